"""What the request builders of all wires share: names and ids as servers take them, pictures as text, plain words for
what a server would refuse.  Pure.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from homed.providers.base import Assistant, Audio, Image, Message, Opaque, Source, System, ToolCall, ToolResult, User

LONGEST_NAME = 64
LONGEST_ID = 40
"""Characters of a call id that OpenAI takes; nobody takes fewer but Mistral."""

CUT_OFF = "(What was said before is not shown.)"
"""Stands first where a wire wants a person to begin and the conversation shown begins with the assistant."""
GO_ON = "(Go on.)"
"""Stands last where a wire wants a person to end."""
BRIDGE = "(I have the results.)"
"""Stands between a tool's result and a person's message where a server wants the assistant between them."""

_NO_NAME = re.compile(r"[^a-zA-Z0-9_-]")
_NINE = re.compile(r"[a-zA-Z0-9]{9}")
_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def said_by(source: Source) -> str:
    """``Assistant.origin`` of what this source says: another model of the same source is another one."""
    return f"{source.name}/{source.model}"


def own(message: Assistant, source: Source) -> bool:
    """Whether the source may have said it itself."""
    return message.origin in ("", said_by(source))


def own_opaque(message: Assistant, source: Source, wire: str) -> Opaque | None:
    """What this wire had put by with the message, if it is this source's own: no other server can check it."""
    opaque = message.opaque
    return opaque if opaque is not None and opaque.wire == wire and own(message, source) else None


def tool_name(said: str) -> str:
    """The name of a tool as servers take it.  A model may call what does not exist by any name, or by none; sent back
    as it was, the history of that conversation would be refused from then on.  The result behind says what was wrong.
    """
    return _NO_NAME.sub("_", said)[:LONGEST_NAME] or "unnamed"


class CallIds:
    """Call ids as a server takes them, each its own in the whole history; the same for the same history.

    Some sources begin to count anew in every answer, and others refuse an id that they have seen.
    """

    def __init__(self, *, nine: bool = False) -> None:
        self._nine = nine
        self._given: dict[str, str] = {}
        self._taken: set[str] = set()
        self._salts: dict[str, int] = {}  # below which all that can be made of an id is taken

    def called(self, id_: str) -> str:
        """The id of a call; one more of the same id gets another."""
        salt = self._salts.get(id_, 0)
        while (found := self._made(id_, salt)) in self._taken:
            salt += 1
        self._salts[id_] = salt + 1
        self._given[id_] = found
        self._taken.add(found)
        return found

    def answered(self, id_: str) -> str:
        """The id of the newest call that had ``id_``, for its result."""
        return self._given.get(id_) or self.called(id_)

    def _made(self, id_: str, salt: int) -> str:
        if self._nine:
            return id_ if _NINE.fullmatch(id_) and not salt else _digest(f"{salt}{id_}", 9)
        safe = _NO_NAME.sub("_", id_)
        if safe and len(safe) <= LONGEST_ID and not salt:
            return safe
        return f"{safe[: LONGEST_ID - 13]}_{_digest(f'{salt}{id_}', 12)}"


def _digest(text: str, length: int) -> str:
    number = int.from_bytes(hashlib.sha256(text.encode("utf-8", "replace")).digest(), "big")
    letters = []
    for _ in range(length):
        number, place = divmod(number, len(_ALPHABET))
        letters.append(_ALPHABET[place])
    return "".join(letters)


def base64_of(media: Image | Audio) -> str:
    """The bytes of a picture or recording as text."""
    return base64.b64encode(media.data).decode("ascii")


def data_url(image: Image) -> str:
    """A picture as an address that holds it."""
    return f"data:{image.media_type};base64,{base64_of(image)}"


def as_bytes(body: Mapping[str, object]) -> bytes:
    """A request as UTF-8 JSON."""
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    # A lone surrogate in the text is no UTF-8; it goes out as a question mark rather than failing the turn.
    return text.encode("utf-8", "replace")


def system_of(messages: Iterable[Message]) -> str:
    """The instructions."""
    return "\n\n".join(message.text for message in messages if isinstance(message, System) and message.text.strip())


def used_tools(messages: Iterable[Message]) -> list[str]:
    """The names of the tools that a history calls, as servers take them."""
    calls = (call for message in messages if isinstance(message, Assistant) for call in message.calls)
    return list(dict.fromkeys(tool_name(call.name) for call in calls))


def in_words(messages: Sequence[Message], chosen: Callable[[str], bool]) -> tuple[Message, ...]:
    """The same with the tool calls that are ``chosen`` (by id), and their results, told in words.

    What stands in words cannot be refused for its form.  Nothing that a source wanted back goes with it.
    """
    out: list[Message] = []
    told: set[str] = set()
    for message in messages:
        if isinstance(message, Assistant) and message.calls and any(chosen(call.id) for call in message.calls):
            told |= {call.id for call in message.calls}  # one with its results: all of them, or none
            words = [message.text, *(_call_in_words(call) for call in message.calls)]
            out.append(Assistant("\n".join(filter(str.strip, words)), origin=message.origin))
        elif isinstance(message, ToolResult) and message.call_id in told:
            kind = "error" if message.is_error else "result"
            out.append(User(f"[{kind} of the tool {message.name}]\n{message.text}"))
        else:
            out.append(message)
    return tuple(out)


def _call_in_words(call: ToolCall) -> str:
    arguments = json.dumps(dict(call.arguments or {}), ensure_ascii=False)
    return f"[called the tool {call.name} with {arguments}]"


def call_ids(messages: Iterable[Message]) -> Collection[str]:
    """The ids of all calls of a history."""
    return {call.id for message in messages if isinstance(message, Assistant) for call in message.calls}
