"""What is said about homed's answers to commands.  Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from . import remembered
from .frames import Data, compact, mapping, mappings, number, text
from .messages import Tag
from .model import Place, Row, State
from .orders import Step, ask, switched, told
from .words import Words

SETTINGS_SHOWN = 30
"""Settings listed at once; more would push everything else off the screen."""


def replied(state: State, tag: Tag, result: Data, words: Words) -> Step:
    """Tell what homed answered to a command."""
    match tag.name:
        case "/stop":
            return (state, ()) if result.get("stopped") else told(state, words("nothing"))
        case "/threads":
            return _threads_found(state, result, words)
        case "/rename":
            return told(replace(state, title=tag.arg), words("renamed", title=tag.arg))
        case "/delete":
            here = tag.arg == state.thread
            return told(switched(state, "") if here else state, words("deleted"))
        case "/models use":
            state, _ = told(state, words("models.used", name=tag.arg))
            return ask(state, "status", "admin.status")
        case "/plugins do":
            state_ = text(result, "state") or text(mapping(result.get("plugin")), "state")
            return told(state, words("plugins.done", name=tag.arg, state=state_))
        case "/persona set":
            return told(state, words("persona.set" if text(result, "text") else "persona.unset"))
        case "/persona later":
            return told(state, words("persona.later"))
        case "/memory edit":
            return ask(state, "/memory edited", *remembered.edited(tag.arg, result), arg=tag.arg)
        case "/settings set":
            later = result.get("applied") == "restart"  # the value is told as homed gives it back, not as it was typed
            return ask(state, "/settings later" if later else "/settings now", "admin.config_get", {"key": tag.arg})
        case "/settings now" | "/settings later":
            key = "settings.set" if tag.name == "/settings now" else "settings.restart"
            return told(state, words(key, setting=text(result, "key"), value=_value(result)))
    if tag.name.startswith("/memory "):
        lines = remembered.lines_of(tag.name.removeprefix("/memory "), tag.arg, result, words)
    else:
        lines = _LISTS[tag.name](state, tag, result, words)
    state, effects = told(state, "\n".join(lines))
    return replace(state, place=Place(state.follow.items[-1].key, 0)), effects  # from its beginning, if it is longer


def _threads_found(state: State, result: Data, words: Words) -> Step:
    rows = rows_of(result)
    lines = []
    for n, row in enumerate(rows, 1):
        here, busy = "*" if row.id == state.thread else " ", f"  ({words('threads.busy')})" if row.busy else ""
        lines.append(f"{here}{n:>3}  {when(row.updated)}  {row.title or words('untitled')}{busy}")
    said = "\n".join([*lines, words("threads.found")]) if rows else words("threads.none")
    return told(replace(state, listed=rows), said)


def rows_of(result: Data) -> tuple[Row, ...]:
    """The conversations in an answer."""
    return tuple(_row(entry) for entry in mappings(result.get("threads")))


def _row(entry: Data) -> Row:
    title = " ".join(text(entry, "title").split())
    at = float(entry.get("updated_at") or 0)
    return Row(text(entry, "id"), title, at, bool(entry.get("busy")), text(entry, "channel"))


def _list_models(_state: State, _tag: Tag, result: Data, words: Words) -> list[str]:
    sources = mappings(result.get("sources"))
    lines = []
    for source in sources:
        notes = [words("models.embedded")] if source.get("kind") == "embedded" else []
        local = source.get("kind") in ("embedded", "gguf")
        notes += [] if source.get("has_key") or local else [words("models.no_key")]
        where = text(source, "path") or text(source, "base_url")
        said = f"  ({', '.join(notes)})" if notes else ""
        mark = "*" if source.get("current") else " "
        shown = "  ".join(part for part in (text(source, "model"), where) if part)
        lines.append(f"{mark} {text(source, 'name'):<12} {shown}{said}")
    return [*lines, words("models.how")] if lines else [words("models.none")]


def _list_plugins(_state: State, _tag: Tag, result: Data, _words: Words) -> list[str]:
    return [
        f"{text(p, 'name'):<12} {text(p, 'state')}{': ' if p.get('reason') else ''}{text(p, 'reason')}"
        for p in mappings(result.get("plugins"))
    ]


def _list_settings(_state: State, tag: Tag, result: Data, words: Words) -> list[str]:
    wanted = tag.arg.lower()
    fit = [s for s in mappings(result.get("settings")) if wanted in f"{text(s, 'key')} {text(s, 'name')}".lower()]
    if not fit:
        return [words("settings.none")]
    lines = [f"{text(s, 'key')} = {_short(s)}" for s in fit[:SETTINGS_SHOWN]]
    left = len(fit) - SETTINGS_SHOWN
    return [*lines, words("settings.many", count=left)] if left > 0 else [*lines, words("settings.how")]


def _one_setting(_state: State, _tag: Tag, result: Data, words: Words) -> list[str]:
    said = words("settings.one", setting=text(result, "key"), value=_value(result), source=text(result, "source"))
    return [said, *([text(result, "description")] if result.get("description") else [])]


def _persona_lines(_state: State, _tag: Tag, result: Data, words: Words) -> list[str]:
    said = text(result, "text") or words("persona.empty")
    given = [words("persona.given", place=text(result, "place"))] if result.get("place") else []
    return [said, *given, "", *personas(result), words("persona.how")]


def personas(result: Data) -> list[str]:
    """The suggestions, a line each."""
    return [
        f"  {text(one, 'name'):<8} {text(one, 'title')}: {text(one, 'about')}"
        for one in mappings(result.get("presets"))
    ]


def _value(setting: Data) -> str:
    return "••••" if setting.get("masked") else compact(setting.get("value"))


def _short(setting: Data) -> str:
    value = " ".join(_value(setting).split())
    return f"{value[:59]}…" if len(value) > 60 else value


def _status_lines(_state: State, _tag: Tag, result: Data, words: Words) -> list[str]:
    model, threads = mapping(result.get("model")), mapping(result.get("threads"))
    version, pid, data = (result.get(key) for key in ("version", "pid", "data_dir"))
    lines = [words("status.homed", version=version, pid=pid, data=data)]
    if model.get("configured") or model.get("model"):
        lines.append(words("status.model", model=text(model, "model"), source=text(model, "source")))
        lines += [text(model, "note")] if model.get("note") else []
    else:
        lines.append(words("status.model.none", hint=text(model, "hint")))
    lines.append(words("status.threads", busy=number(threads, "busy"), queued=number(threads, "queued")))
    lines.append(words("memory.counts", counts=counted(words, mapping(result.get("counts")))))
    storage = mapping(result.get("storage"))
    if storage.get("state") == "read_only":
        lines.append(words("status.storage", reason=text(storage, "reason")))
    return lines


def _memory_lines(_state: State, _tag: Tag, result: Data, words: Words) -> list[str]:
    entries, events = mappings(result.get("entries")), mapping(result.get("events"))
    data: dict[str, object] = {}
    for entry in entries:
        data |= {**mapping(entry.get("data")), **{k: v for k, v in entry.items() if k not in ("kind", "at", "data")}}
    kept = data.get("kept")
    lines = [words("memory.turn", kept=len(kept) if isinstance(kept, list) else number(data, "kept"))]
    shown, cold, facts = (_ids(data.get(key)) for key in ("shown", "cold", "facts"))
    if shown or cold or facts:
        lines.append(words("memory.recalled", shown=len(shown), cold=len(cold), facts=len(facts)))
        lines += detail_lines(events, [*shown, *cold, *facts])
    else:
        lines.append(words("memory.nothing"))
    return lines


def _ids(value: object) -> list[str]:
    return [str(id_) for id_ in value] if isinstance(value, list | tuple) else []


def detail_lines(events: Data, ids: list[str]) -> list[str]:
    """Each recalled event: when, where, what it says, and its id."""
    lines = []
    for id_ in ids:
        event = mapping(events.get(id_))
        at = event.get("created_at")
        place = " · ".join(
            part for part in (when(at if isinstance(at, int | float) else 0), text(event, "title")) if part
        )
        lines.append(f"{id_}  {place}".rstrip())
        lines += [f"    {' '.join(text(event, 'excerpt').split())}"] if event.get("excerpt") else []
    return lines


def counted(words: Words, counts: Data) -> str:
    """``12 events, 3 conversations``: what this waiter has a name for."""
    known = [name for name in ("events", "threads", "inputs") if name in counts]
    return ", ".join(words(f"count.{name}", n=counts[name]) for name in known)


def when(at: float) -> str:
    """Local time, to the minute; blank if it is not known."""
    return datetime.fromtimestamp(at).strftime("%Y-%m-%d %H:%M") if at else ""


_LISTS: dict[str, Callable[[State, Tag, Data, Words], list[str]]] = {
    "/models": _list_models, "/plugins": _list_plugins, "/settings": _list_settings, "/settings get": _one_setting,
    "/persona": _persona_lines, "/status": _status_lines, "/memory": _memory_lines,
}  # fmt: skip
