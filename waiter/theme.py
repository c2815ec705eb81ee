"""Colours.  Names of the terminal's own palette where they do, so that a person's own scheme stays in force."""

from __future__ import annotations

from collections.abc import Mapping

_BOTH = {
    "said": "bold", "said.label": "bold italic", "md.strong": "bold", "md.em": "italic", "md.del": "strike",
    "md.link": "underline", "chosen": "reverse", "ask": "bold", "ask.keys": "bold", "status": "", "below": "bold",
    "note.head": "bold", "md.th": "bold", "tool.name": "bold",
}  # fmt: skip

_DARK = {
    **_BOTH,
    "said": "bold ansibrightcyan", "said.label": "bold ansicyan", "dim": "ansibrightblack", "note": "ansigray",
    "error": "ansibrightred", "recall": "ansibrightmagenta", "tool.ok": "ansibrightgreen",
    "tool.running": "ansibrightyellow", "tool.error": "ansibrightred", "tool.denied": "ansibrightred",
    "tool.interrupted": "ansibrightyellow", "tool.unknown": "ansibrightblack",
    "ask": "bold ansibrightyellow", "ask.mark": "bold ansibrightyellow", "ask.keys": "bold",
    "md.h1": "bold underline ansibrightcyan", "md.h2": "bold ansibrightcyan", "md.h3": "bold ansicyan",
    "md.h4": "bold", "md.h5": "bold", "md.h6": "bold", "md.code": "ansibrightyellow", "md.bar": "ansibrightblack",
    "md.bullet": "ansicyan", "md.quote": "ansigreen", "md.rule": "ansibrightblack", "md.url": "ansibrightblue",
    "md.link": "underline ansibrightblue", "rule": "ansibrightblack", "below": "bold ansibrightyellow",
    "status": "ansigray", "status.ok": "ansibrightgreen", "status.bad": "ansibrightred",
    "status.doing": "ansibrightyellow", "status.model": "ansigray", "status.tokens": "ansibrightblack",
    "status.cost": "ansibrightblack",
    "placeholder": "ansibrightblack", "note.head": "bold ansigray",
    "pyg.keyword": "ansibrightmagenta", "pyg.name.function": "ansibrightblue", "pyg.name.class": "bold ansibrightblue",
    "pyg.name.builtin": "ansibrightcyan", "pyg.name.decorator": "ansibrightcyan", "pyg.name.tag": "ansibrightblue",
    "pyg.name.attribute": "ansicyan", "pyg.literal.string": "ansibrightgreen", "pyg.literal.number": "ansibrightyellow",
    "pyg.comment": "italic ansibrightblack", "pyg.generic.deleted": "ansibrightred",
    "pyg.generic.inserted": "ansibrightgreen", "pyg.generic.heading": "bold", "pyg.operator.word": "ansibrightmagenta",
    "completion-menu": "bg:ansibrightblack ansiwhite", "completion-menu.completion.current": "reverse",
    "completion-menu.meta.completion": "bg:ansibrightblack ansigray",
    "completion-menu.meta.completion.current": "bg:ansibrightblack ansiwhite",
}  # fmt: skip

_LIGHT = {
    **_BOTH,
    "said": "bold ansiblue", "said.label": "bold ansiblue", "dim": "#6a6a6a", "note": "#505050",
    "error": "#b00020", "recall": "ansimagenta", "tool.ok": "#006b1e", "tool.running": "#8a5a00",
    "tool.error": "#b00020", "tool.denied": "#b00020", "tool.interrupted": "#8a5a00", "tool.unknown": "#6a6a6a",
    "ask": "bold #8a5a00", "ask.mark": "bold #8a5a00", "ask.keys": "bold",
    "md.h1": "bold underline ansiblue", "md.h2": "bold ansiblue", "md.h3": "bold ansiblue", "md.h4": "bold",
    "md.h5": "bold", "md.h6": "bold", "md.code": "#8a3b00", "md.bar": "#9a9a9a", "md.bullet": "ansiblue",
    "md.quote": "#006b1e", "md.rule": "#9a9a9a", "md.url": "#0050a0", "md.link": "underline #0050a0", "rule": "#9a9a9a",
    "below": "bold #8a5a00", "status": "#505050", "status.ok": "#006b1e", "status.bad": "#b00020",
    "status.doing": "#8a5a00", "status.model": "#505050", "status.tokens": "#6a6a6a", "status.cost": "#6a6a6a",
    "placeholder": "#8a8a8a",
    "note.head": "bold #303030",
    "pyg.keyword": "#7a1fa2", "pyg.name.function": "#0050a0", "pyg.name.class": "bold #0050a0",
    "pyg.name.builtin": "#00607a", "pyg.name.decorator": "#00607a", "pyg.name.tag": "#0050a0",
    "pyg.name.attribute": "#00607a", "pyg.literal.string": "#006b1e", "pyg.literal.number": "#8a3b00",
    "pyg.comment": "italic #6a6a6a", "pyg.generic.deleted": "#b00020", "pyg.generic.inserted": "#006b1e",
    "pyg.generic.heading": "bold", "pyg.operator.word": "#7a1fa2",
    "completion-menu": "bg:#e0e0e0 #101010", "completion-menu.completion.current": "reverse",
    "completion-menu.meta.completion": "bg:#e0e0e0 #505050",
    "completion-menu.meta.completion.current": "bg:#e0e0e0 #101010",
}  # fmt: skip

_NONE = {
    **_BOTH,
    "recall": "italic", "tool.running": "bold", "md.h1": "bold underline", "md.h2": "bold", "md.h3": "bold",
    "md.h4": "bold", "md.h5": "bold", "md.h6": "bold", "md.code": "underline", "error": "bold",
    "completion-menu": "noreverse", "completion-menu.completion.current": "reverse",
}  # fmt: skip


def rules(theme: str, environment: Mapping[str, str]) -> dict[str, str]:
    """Style rules of a theme: dark, light, or auto, which goes by what the terminal says of its background."""
    if environment.get("NO_COLOR"):
        return _NONE
    if theme == "auto":
        theme = "light" if _light(environment) else "dark"
    return _LIGHT if theme == "light" else _DARK


def _light(environment: Mapping[str, str]) -> bool:
    """``COLORFGBG`` is ``foreground;background`` by number; 7 and 9 to 15 are light."""
    last = environment.get("COLORFGBG", "").rpartition(";")[2]
    return last.isdecimal() and int(last) in (7, *range(9, 16))
