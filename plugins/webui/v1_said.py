"""What a program says when it sends a whole conversation: what of it is new, and which conversation that is.

Pure, but for a file of words.

Programs send all messages each time and know of no thread.  New is what the person said after the last answer; the rest
was heard before, and is only looked at to find the thread.  Two marks say where a message stands (``Place`` in
``docs/wire.md``): keyed hashes, of all that the person has said up to it, and of it alone.  The key is the API key, so
no two keys share a conversation, and nobody who has the database can try texts against them.  Instructions (role system
or developer) and answers are in no mark: programs put the date into the former, and trim the latter.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote_to_bytes

from homed.errors import InvalidInput

if TYPE_CHECKING:
    from .asked_v1 import Message, Part

PERSON, ANSWERED, RESULT = "user", "assistant", "tool"
INSTRUCTIONS = ("system", "developer")

MAX_FILES = 10
"""Files with one message, as with any other."""
INSTRUCTED = 200_000
"""Characters of instructions."""
EARLIER = 24_000
"""Characters of earlier messages that are told where a conversation begins here: the last ones."""
ANSWER = 800
"""Characters of the last answer's end that are told, to compare."""

_DATA = re.compile(r"data:([a-z0-9][a-z0-9.+-]*/[a-z0-9][a-z0-9.+-]*)((?:;[^;,]*)*),", re.IGNORECASE)
_SOUNDS = {"wav": "audio/wav", "mp3": "audio/mpeg"}
_ENDINGS = {"image/jpeg": "jpg", "image/svg+xml": "svg", "audio/mpeg": "mp3", "text/plain": "txt"}


@dataclass(frozen=True, slots=True)
class Attached:
    """A file that came with a message."""

    name: str
    media_type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Said:
    """What is new: the person's words with their files, and where they stand; or ``results`` of calls, by their ids."""

    text: str = ""
    files: tuple[Attached, ...] = ()
    place: Mapping[str, str] | None = None
    results: Mapping[str, str] | None = None


@dataclass(slots=True)
class _Turn:
    """What the person said before one answer."""

    texts: list[str]
    files: list[Attached]
    answer: str = ""


def said(messages: Sequence[Message], key: str) -> Said:
    """What is new in these messages.  Raises InvalidInput, whose ``detail["param"]`` names the place."""
    if results := _results(messages):
        return Said(results=results)
    turns = _turns(messages)
    if not turns or turns[-1].answer or not _ends_with_person(messages):
        raise wrong("messages", "must end with a message of the user's, or with results of tool calls")
    now, before = turns[-1], turns[:-1]
    text = "\n\n".join(filter(None, now.texts))
    if not text.strip() and not now.files:
        raise wrong(f"messages[{len(messages) - 1}].content", "is empty")
    if len(now.files) > MAX_FILES:
        raise wrong("messages", f"has {len(now.files)} files in one message; {MAX_FILES} are the limit")
    marks = [_mark(key, turn) for turn in turns]
    place = {"chain": _chain(key, marks), "said": marks[-1], "opening": opening(messages, before)}
    if before:
        place |= {"chain_before": _chain(key, marks[:-1]), "said_before": marks[-2]}
        place["answer"] = before[-1].answer[-ANSWER:]
    return Said(text, tuple(now.files), place)


def wrong(param: str, why: str) -> InvalidInput:
    """The error for a parameter."""
    return InvalidInput(f"'{param}' {why}.", detail={"param": param})


def opening(messages: Sequence[Message], before: Sequence[_Turn]) -> str:
    """What stands before the first message where the conversation is new here; nothing where there is nothing."""
    instructions = "\n\n".join(_text(m) for m in messages if m.role in INSTRUCTIONS and _text(m).strip())
    if len(instructions) > INSTRUCTED:
        raise wrong("messages", f"has instructions of {len(instructions)} characters; {INSTRUCTED} are the limit")
    told = "\n\n".join(filter(None, (_told(turn) for turn in before)))
    if len(told) > EARLIER:
        told = f"[…]\n{told[-EARLIER:]}"
    pieces = _pieces()
    shown = [
        pieces[name].replace("{text}", text) for name, text in (("program", instructions), ("earlier", told)) if text
    ]
    return "\n\n".join([*shown, pieces["now"]]) if shown else ""


@cache
def _pieces() -> Mapping[str, str]:
    """The words around it, from the file beside this one: name → text."""
    parts = re.split(r"^# (\w+)\n", (Path(__file__).parent / "v1_opening.md").read_text("utf-8"), flags=re.MULTILINE)
    return {name: text.strip() for name, text in zip(parts[1::2], parts[2::2], strict=True)}


def _told(turn: _Turn) -> str:
    said_, answer = "\n\n".join(filter(None, turn.texts)), turn.answer
    files = f"[{len(turn.files)} files]" if turn.files else ""
    lines = (("Person", " ".join(filter(None, (said_, files)))), ("Assistant", answer))
    return "\n\n".join(f"{who}: {text}" for who, text in lines if text.strip())


def _results(messages: Sequence[Message]) -> dict[str, str]:
    found: dict[str, str] = {}
    for at in range(len(messages) - 1, -1, -1):
        message = messages[at]
        if message.role != RESULT:
            break
        if not message.tool_call_id:
            raise wrong(f"messages[{at}].tool_call_id", "is missing")
        if message.tool_call_id in found:
            raise wrong(f"messages[{at}].tool_call_id", "has two results")
        found[message.tool_call_id] = _text(message)
    return dict(reversed(found.items()))


def _turns(messages: Sequence[Message]) -> list[_Turn]:
    turns: list[_Turn] = []
    for at, message in enumerate(messages):
        if message.role == PERSON:
            if not turns or turns[-1].answer:
                turns.append(_Turn([], []))
            text, files = _parts(message, at)
            turns[-1].texts.append(text)
            turns[-1].files += files
        elif message.role == ANSWERED and turns:
            # an answer in several steps, with calls between, is one; one without words is an answer, too
            turns[-1].answer = "\n\n".join(filter(None, (turns[-1].answer.strip(), _text(message)))) or " "
    return turns


def _ends_with_person(messages: Sequence[Message]) -> bool:
    last = next((message for message in reversed(messages) if message.role not in INSTRUCTIONS), None)
    return last is not None and last.role == PERSON


def _text(message: Message) -> str:
    content = message.content
    if isinstance(content, list):
        return "\n\n".join(filter(None, (part.text or part.refusal for part in content)))
    return content or ""


def _parts(message: Message, at: int) -> tuple[str, list[Attached]]:
    if not isinstance(message.content, list):
        return message.content or "", []
    files = [_file(part, f"messages[{at}].content[{number}]") for number, part in enumerate(message.content)]
    return _text(message), [file for file in files if file is not None]


def _file(part: Part, place: str) -> Attached | None:
    match part.type:
        case "image_url":
            if part.image_url is None:
                raise wrong(f"{place}.image_url", "is missing")
            return _from_url(part.image_url.url, "", f"{place}.image_url.url")
        case "input_audio":
            if part.input_audio is None:
                raise wrong(f"{place}.input_audio", "is missing")
            data = _decoded(part.input_audio.data, f"{place}.input_audio.data")
            return Attached(f"sound.{part.input_audio.format}", _SOUNDS[part.input_audio.format], data)
        case "file":
            if part.file is None or not part.file.file_data:
                raise wrong(f"{place}.file.file_data", "is missing; files are sent along, not by an id")
            return _from_url(part.file.file_data, part.file.filename or "", f"{place}.file.file_data")
        case _:
            return None


def _from_url(url: str, name: str, place: str) -> Attached:
    head = _DATA.match(url)
    if head is None:
        raise wrong(place, "must be a data: URL; nothing is fetched from elsewhere")
    kind = head[1].lower()
    rest = url[head.end() :]
    data = _decoded(rest, place) if ";base64" in head[2].lower() else unquote_to_bytes(rest)
    if not data:
        raise wrong(place, "holds nothing")
    ending = _ENDINGS.get(kind) or re.sub(r"[^a-z0-9]", "", kind.partition("/")[2])[:8] or "bin"
    return Attached(_named(name) or f"{'picture' if kind.startswith('image/') else 'file'}.{ending}", kind, data)


def _named(name: str) -> str:
    """A file's name without folders and what no name has."""
    kept = re.split(r"[/\\]", name)[-1]
    return "".join(char for char in kept if char.isprintable()).strip(" .")[:200]


def _decoded(text: str, place: str) -> bytes:
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        raise wrong(place, "is not valid base64") from None


def _mark(key: str, turn: _Turn) -> str:
    digests = [hashlib.sha256(file.data).hexdigest() for file in turn.files]
    words = "\n\n".join(filter(None, (" ".join(text.split()) for text in turn.texts)))
    return _hash(key, "\n".join([words, *digests]))


def _chain(key: str, marks: Sequence[str]) -> str:
    return _hash(key, "chain\n" + "\n".join(marks))


def _hash(key: str, text: str) -> str:
    return hmac.new(key.encode(), text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()
