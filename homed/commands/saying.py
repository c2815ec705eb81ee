"""What commands say, in the language of the terminal.  Pure, but for a catalogue that is read with the first sentence.

Commands are written in English.  ``strings/said.LANG.json`` has what they say themselves (``said``, by the English
template, so that nothing that is filled in is ever taken for a sentence), and ``strings/kernel.LANG.json`` what comes
to them whole, as errors, reasons and notes of the kernel's do: sentences with ``{name}`` where something stands in it.
What is in neither stays as it is.  Where the language is English neither is read.
"""

from __future__ import annotations

from functools import cache

from homed.config.environment import child_environment
from homed.helptext import language_of, shown
from homed.sentences import Sentences, catalogue


def phrase(english: str, /, **parts: object) -> str:
    """A sentence of a command's own with its parts filled in, as ``str.format`` does.

    ``english`` is the template as it stands in the code; a part is put in as it is, so one that is made of words is a
    phrase itself.
    """
    text = catalogue("said", _language()).get("said", {}).get(english)
    text = english if text is None or not shown(text) else text
    return text.format(**parts) if parts else text


def translated(text: str) -> str:
    """A sentence that the kernel, argparse or an error says, with what is filled in looked up in the same way."""
    language = _language()
    if language == "en":
        return text
    found = _heard(language)(text)
    return found if shown(found) else text


def translated_lines(text: str) -> str:
    """Several lines that the kernel says, each by itself and as far from the edge as it was."""
    return "\n".join(line[: len(line) - len(line.lstrip())] + translated(line.strip()) for line in text.split("\n"))


def translated_each(text: str) -> str:
    """A finding, or several with ``; `` between them, each by itself."""
    parts = text.split("; ")
    if len(parts) > 1 and translated(parts[0]) != parts[0]:
        return "；".join(map(translated, parts))
    return translated(text)


def about_setting(key: str, description: str) -> str:
    """What a setting of homed or of one of its plugins is for."""
    known = catalogue("kernel", _language()).get("settings", {})
    return str(known[key][1]) if key in known and shown(known[key][1]) else description


def about_plugin(name: str, description: str) -> str:
    """What a built-in plugin is for."""
    known = catalogue("kernel", _language()).get("plugins", {})
    return str(known[name]) if name in known and shown(known[name]) else description


def _language() -> str:
    return language_of(child_environment())


@cache
def _heard(language: str) -> Sentences:
    return Sentences({**catalogue("said", language).get("heard", {}), **catalogue("kernel", language).get("texts", {})})
