"""What each capability means for the person who grants it, in one sentence.  Pure data."""

from __future__ import annotations

from collections.abc import Mapping

WHAT: Mapping[str, str] = {
    "core": "Offer tools, keep its own settings, write its own log. Every plugin has this.",
    "io": "Put messages into your conversations, read those of the people it brings in, and answer them.",
    "io.critical": "Interrupt any answer before everything else, at the highest level.",
    "memory": "Read what is remembered and why an answer was given.",
    "memory.write": "Change what is remembered, in a person's name: correct, hide, combine, put back.",
    "cold": "Search what is no longer in view of past conversations.",
    "knowledge": "Read and write the knowledge base.",
    "textlog": "Read the written record of conversations.",
    "llm": "Ask the model things of its own, which may cost money.",
    "social.read": "See whom the assistant knows and what it knows about them.",
    "social.write": "Change what the assistant knows about people.",
    "events.notices": "Hear when something happens (a message, a tool call), without the words.",
    "events.content": "Read along: every message, answer and tool result as it comes.",
    "events.publish": "Announce events of its own to all others.",
    "plugin_mgr": "Install, change and remove plugins.",
    "settings_cross": "Read and change the settings of homed and of other plugins.",
    "tools": "Call the tools of other plugins within a conversation.",
    "tracker": "Tell what its tools change in your files, and put it back when you say so.",
    "auth": "Let people in: check passwords, login links and API keys.",
    "admin": "Manage homed as its owner does.",
}
"""Capability → sentence.  A test keeps it whole; the page has them in its other languages."""


def what(capability: str) -> str:
    """The sentence, or the name alone for one that is not known here."""
    return WHAT.get(capability, capability)
