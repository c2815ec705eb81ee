"""What a model gives to an output, as parts that a channel can be handed.  Pure.

A text is one part; an object says its ``type``; a list is several of them, sent in their order.  An object without a
type is data of the channel's own (``structured``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from homed.errors import InvalidInput
from homed.wire.carried import AUDIO, BITS, FILE, IMAGE, STRUCTURED, TEXT

MOST = 10
"""Parts of one send."""

_FAMILY = {IMAGE: "image/", AUDIO: "audio/"}


@dataclass(frozen=True, slots=True)
class Sent:
    """One part: ``kind`` of what outputs carry.  ``text``: what it says (of media the caption); ``block``: the id of a
    stored file; ``data``: the object of a structured part."""

    kind: str
    text: str = ""
    block: str = ""
    data: Mapping[str, object] | None = None

    def reworded(self, text: str) -> Sent:
        """The same with another text."""
        return replace(self, text=text)


def parts_of(content: object) -> list[Sent]:
    """The parts of a content.  Raises InvalidInput, with the place and what to write instead."""
    if isinstance(content, Sequence) and not isinstance(content, str | bytes):
        if not 0 < len(content) <= MOST:
            raise InvalidInput(f"content: a list has 1 to {MOST} parts, this one {len(content)}.")
        return [_part(one, f"content[{n}]") for n, one in enumerate(content)]
    return [_part(content, "content")]


def _part(content: object, where: str) -> Sent:
    if isinstance(content, Mapping):
        return _object(content, where)
    if isinstance(content, str):
        if not content.strip():
            raise InvalidInput(f"{where}: there is nothing in it to send.")
        return Sent(TEXT, content)
    if content is None or isinstance(content, list | tuple):
        raise InvalidInput(f"{where}: a text or an object is sent, not {type(content).__name__}.")
    return Sent(TEXT, str(content))


def _object(content: Mapping[str, object], where: str) -> Sent:
    kind = content.get("type", STRUCTURED)
    if not isinstance(kind, str) or kind not in BITS:
        raise InvalidInput(f"{where}.type: {str(kind)[:40]!r} is none of {', '.join(BITS)}.")
    if kind == STRUCTURED:
        return Sent(STRUCTURED, data=dict(content))
    words = content.get("text", content.get("caption", ""))
    if not isinstance(words, str):
        raise InvalidInput(f"{where}: its text is to be a string.")
    if kind == TEXT:
        if not words.strip():
            raise InvalidInput(f"{where}.text: there is nothing in it to send.")
        return Sent(TEXT, words)
    block = content.get("block")
    if not isinstance(block, str) or not block:
        raise InvalidInput(f"{where}.block: name the id of a file of this conversation.")
    return Sent(kind, words, block)


def lacking(parts: Sequence[Sent], caps: Sequence[str]) -> list[str]:
    """The kinds among the parts that an output with these abilities does not carry, each once."""
    return list(dict.fromkeys(part.kind for part in parts if part.kind not in caps))


def fits(kind: str, media_type: str) -> bool:
    """Whether a file of this media type can be sent as that kind; as a ``file`` any can."""
    return kind == FILE or media_type.startswith(_FAMILY.get(kind, "\0"))
