"""What a line that starts with ``/`` does.  ``/help`` is made from the table that is looked up: none can be missing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from . import remembered, table
from .session import Session
from .terminal import one_line
from .words import Words


@dataclass(slots=True)
class Talk:
    """A conversation line by line: the session, the current thread, and whether it is over."""

    session: Session
    thread: str = ""
    over: bool = False
    listed: list[str] = field(default_factory=list)

    @property
    def words(self) -> Words:
        """In the person's language."""
        return self.session.words

    def note(self, text: str) -> None:
        """A line for the person."""
        self.session.terminal.note(text, dim=False)


Handler = Callable[[Talk, str], None]


@dataclass(frozen=True, slots=True)
class Command:
    """One entry: what follows the name; what it does is said in ``talk.help.NAME``."""

    usage: str
    run: Handler


def _help(talk: Talk, _rest: str) -> None:
    for name, command in COMMANDS.items():
        talk.note(f"  {f'/{name} {command.usage}':<18} {talk.words(f'talk.help.{name}')}")
    talk.note(f"  {talk.words('talk.help')}")


def _stop(talk: Talk, _rest: str) -> None:
    stopped = talk.thread and talk.session.call("stop", {"thread": talk.thread}).get("stopped")
    talk.note(talk.words("talk.was_stopped" if stopped else "nothing"))


def _new(talk: Talk, _rest: str) -> None:
    talk.thread = ""
    talk.note(talk.words("new"))


def _threads(talk: Talk, rest: str) -> None:
    found = talk.session.call("threads", {"query": rest, "limit": 20}).get("threads") or []
    talk.listed = [str(thread.get("id")) for thread in found]
    for number, thread in enumerate(found, 1):
        here = "*" if thread.get("id") == talk.thread else " "
        title = one_line(str(thread.get("title") or talk.words("untitled")), 60)
        busy = f"  ({talk.words('threads.busy')})" if thread.get("busy") else ""
        talk.note(f"{here}{number:>3}  {_when(thread.get('updated_at'))}  {title}{busy}")
    talk.note(talk.words("threads.found" if found else "threads.none"))


def _open(talk: Talk, rest: str) -> None:
    if rest.isdecimal() and 1 <= int(rest) <= len(talk.listed):
        rest = talk.listed[int(rest) - 1]
    if not rest:
        talk.note(talk.words("which"))
        return
    history = talk.session.call("history", {"thread": rest, "limit": 10})
    talk.thread = rest
    for event in history.get("events") or []:
        if event.get("kind") in ("user", "assistant") and event.get("text"):
            talk.note(f"{'>' if event['kind'] == 'user' else ' '} {event['text']}")


def _status(talk: Talk, _rest: str) -> None:
    status = talk.session.call("admin.status", {})
    model = status.get("model") or {}
    threads, counts = status.get("threads") or {}, status.get("counts") or {}
    about = {"version": status.get("version"), "pid": status.get("pid"), "data": status.get("data_dir")}
    talk.note(talk.words("status.homed", **about))
    if model.get("configured"):
        talk.note(talk.words("status.model", model=model.get("model"), source=model.get("source")))
    else:
        talk.note(talk.words("status.model.none", hint=model.get("hint") or ""))
    talk.note(talk.words("status.threads", busy=threads.get("busy", 0), queued=threads.get("queued", 0)))
    talk.note(", ".join(f"{name}: {count}" for name, count in counts.items()))


def _plugins(talk: Talk, _rest: str) -> None:
    for plugin in talk.session.call("admin.plugins", {}).get("plugins") or []:
        reason = f": {one_line(str(plugin['reason']), 100)}" if plugin.get("reason") else ""
        talk.note(f"  {plugin.get('name', ''):<12} {plugin.get('state', '')}{reason}")


def _models(talk: Talk, _rest: str) -> None:
    sources = talk.session.call("admin.models_list", {}).get("sources") or []
    for source in sources:
        key = "" if source.get("has_key") else f"  ({talk.words('models.no_key')})"
        current = "*" if source.get("current") else " "
        model = f"{source.get('model', '')}  {source.get('base_url', '')}"
        talk.note(f"{current} {source.get('name', ''):<12} {model}{key}")
    if not sources:
        talk.note(talk.words("models.none"))


def _persona(talk: Talk, rest: str) -> None:
    verb, _, more = rest.partition(" ")
    if not rest:
        found = talk.session.call("admin.persona_get", {})
        talk.note(str(found.get("text") or talk.words("persona.empty")))
        for one in found.get("presets") or []:
            talk.note(f"  {one.get('name', ''):<8} {one.get('about', '')}")
        talk.note(talk.words("persona.how"))
        return
    given: dict[str, object] = {"preset": verb.lower()}
    if verb == "text":
        given = {"text": more.strip()}
    elif verb == "none":
        given = {"text": ""}
    elif verb == "later":
        given = {"later": True}
    talk.session.call("admin.persona_set", given)
    talk.note(talk.words("persona.later" if verb == "later" else "persona.set"))


def _memory(talk: Talk, rest: str) -> None:
    verb, _, more = rest.partition(" ")
    more = more.strip()
    if verb == "forget" and more.endswith(" yes"):  # the person has seen what goes
        target = more.removesuffix(" yes").strip()
        answer = talk.session.call("admin.memory_forget", {"kind": "fact", "target": target})
        _lines(talk, remembered.lines_of("forgotten", target, answer, talk.words))
        return
    wanted = remembered.asked(verb or "stats", more)
    if wanted is None:
        takes = remembered.usage(verb)
        talk.note(f"/memory {verb} {takes}" if takes else f"/memory {table.MEMORY.removesuffix('|why')}")
        return
    answer = talk.session.call(*wanted)
    if verb == "edit":
        verb, answer = "edited", talk.session.call(*remembered.edited(more, answer))
    _lines(talk, remembered.lines_of(verb or "stats", more, answer, talk.words))


def _lines(talk: Talk, lines: list[str]) -> None:
    for line in lines:
        talk.note(line)


def _quit(talk: Talk, _rest: str) -> None:
    talk.over = True


COMMANDS: Mapping[str, Command] = {
    "help": Command("", _help),
    "stop": Command("", _stop),
    "new": Command("", _new),
    "threads": Command("[TEXT]", _threads),
    "open": Command("NUMBER", _open),
    "status": Command("", _status),
    "persona": Command("[NAME|text TEXT|none]", _persona),
    "memory": Command("[open ID|search TEXT|…]", _memory),
    "plugins": Command("", _plugins),
    "models": Command("", _models),
    "quit": Command("", _quit),
}


def run(talk: Talk, line: str) -> None:
    """Run a command line.  An unknown one is told, never sent to the model.  Raises what homed answers."""
    name, _, rest = line.strip().removeprefix("/").partition(" ")
    command = COMMANDS.get(name.lower())
    if command is None:
        talk.note(talk.words("unknown", name=one_line(name, 40)))
        return
    command.run(talk, rest.strip())


def _when(at: Any) -> str:
    return datetime.fromtimestamp(at).strftime("%Y-%m-%d %H:%M") if isinstance(at, (int, float)) else " " * 16
