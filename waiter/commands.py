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

WORDS = Words()


@dataclass(slots=True)
class Talk:
    """A conversation line by line: the session, the current thread, and whether it is over."""

    session: Session
    thread: str = ""
    over: bool = False
    listed: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        """A line for the person."""
        self.session.terminal.note(text, dim=False)


Handler = Callable[[Talk, str], None]


@dataclass(frozen=True, slots=True)
class Command:
    """One entry: what follows the name, what it does."""

    usage: str
    help: str
    run: Handler


def _help(talk: Talk, _rest: str) -> None:
    for name, command in COMMANDS.items():
        talk.note(f"  {f'/{name} {command.usage}':<18} {command.help}")
    talk.note("  A line that ends with \\ goes on in the next one.  // at the start sends a line that begins with /.")


def _stop(talk: Talk, _rest: str) -> None:
    stopped = talk.thread and talk.session.call("stop", {"thread": talk.thread}).get("stopped")
    talk.note("Stopped." if stopped else "Nothing is running.")


def _new(talk: Talk, _rest: str) -> None:
    talk.thread = ""
    talk.note("The next message begins a new conversation.")


def _threads(talk: Talk, rest: str) -> None:
    found = talk.session.call("threads", {"query": rest, "limit": 20}).get("threads") or []
    talk.listed = [str(thread.get("id")) for thread in found]
    for number, thread in enumerate(found, 1):
        here = "*" if thread.get("id") == talk.thread else " "
        title = one_line(str(thread.get("title") or "(no title)"), 60)
        busy = "  (busy)" if thread.get("busy") else ""
        talk.note(f"{here}{number:>3}  {_when(thread.get('updated_at'))}  {title}{busy}")
    talk.note("/open NUMBER goes on with one." if found else "There are no conversations yet.")


def _open(talk: Talk, rest: str) -> None:
    if rest.isdecimal() and 1 <= int(rest) <= len(talk.listed):
        rest = talk.listed[int(rest) - 1]
    if not rest:
        talk.note("Which one?  /threads lists them.")
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
    talk.note(f"homed {status.get('version')}, process {status.get('pid')}, data in {status.get('data_dir')}")
    if model.get("configured"):
        talk.note(f"model: {model.get('model')} of {model.get('source')}")
    else:
        talk.note(f"model: none. {model.get('hint') or ''}")
    talk.note(f"conversations: {threads.get('busy', 0)} busy, {threads.get('queued', 0)} messages queued")
    talk.note(", ".join(f"{name}: {count}" for name, count in counts.items()))


def _plugins(talk: Talk, _rest: str) -> None:
    for plugin in talk.session.call("admin.plugins", {}).get("plugins") or []:
        reason = f": {one_line(str(plugin['reason']), 100)}" if plugin.get("reason") else ""
        talk.note(f"  {plugin.get('name', ''):<12} {plugin.get('state', '')}{reason}")


def _models(talk: Talk, _rest: str) -> None:
    sources = talk.session.call("admin.models_list", {}).get("sources") or []
    for source in sources:
        key = "" if source.get("has_key") else "  (no key)"
        current = "*" if source.get("current") else " "
        model = f"{source.get('model', '')}  {source.get('base_url', '')}"
        talk.note(f"{current} {source.get('name', ''):<12} {model}{key}")
    if not sources:
        talk.note("No model is set up.  `homed models add NAME --base-url URL --model M --api-key K` adds one.")


def _persona(talk: Talk, rest: str) -> None:
    verb, _, more = rest.partition(" ")
    if not rest:
        found = talk.session.call("admin.persona_get", {})
        talk.note(str(found.get("text") or "No persona is set: helpful and plain."))
        for one in found.get("presets") or []:
            talk.note(f"  {one.get('name', ''):<8} {one.get('about', '')}")
        talk.note("/persona NAME chooses one, /persona text TEXT is your own, /persona none takes it off.")
        return
    given: dict[str, object] = {"preset": verb.lower()}
    if verb == "text":
        given = {"text": more.strip()}
    elif verb == "none":
        given = {"text": ""}
    elif verb == "later":
        given = {"later": True}
    talk.session.call("admin.persona_set", given)
    talk.note("It stays as it is." if verb == "later" else "It holds from the next message on.")


def _memory(talk: Talk, rest: str) -> None:
    verb, _, more = rest.partition(" ")
    more = more.strip()
    if verb == "forget" and more.endswith(" yes"):  # the person has seen what goes
        target = more.removesuffix(" yes").strip()
        answer = talk.session.call("admin.memory_forget", {"kind": "fact", "target": target})
        _lines(talk, remembered.lines_of("forgotten", target, answer, WORDS))
        return
    wanted = remembered.asked(verb or "stats", more)
    if wanted is None:
        talk.note(f"/memory {table.MEMORY.removesuffix('|why')}")
        return
    _lines(talk, remembered.lines_of(verb or "stats", more, talk.session.call(*wanted), WORDS))


def _lines(talk: Talk, lines: list[str]) -> None:
    for line in lines:
        talk.note(line)


def _quit(talk: Talk, _rest: str) -> None:
    talk.over = True


COMMANDS: Mapping[str, Command] = {
    "help": Command("", "this list", _help),
    "stop": Command("", "stop the answer that is being made (Ctrl-C does too)", _stop),
    "new": Command("", "begin a new conversation", _new),
    "threads": Command(
        "[TEXT]", "the latest conversations, or those with TEXT in the title or in what was said", _threads
    ),
    "open": Command("NUMBER", "go on with a conversation from that list", _open),
    "status": Command("", "how homed is", _status),
    "persona": Command("[NAME|text TEXT|none]", "who the assistant is", _persona),
    "memory": Command("[open ID|search TEXT|…]", "what is remembered, and the words behind it", _memory),
    "plugins": Command("", "the plugins and their state", _plugins),
    "models": Command("", "the model sources", _models),
    "quit": Command("", "leave (Ctrl-D does too)", _quit),
}


def run(talk: Talk, line: str) -> None:
    """Run a command line.  An unknown one is told, never sent to the model.  Raises what homed answers."""
    name, _, rest = line.strip().removeprefix("/").partition(" ")
    command = COMMANDS.get(name.lower())
    if command is None:
        talk.note(f"There is no command /{one_line(name, 40)}.  /help lists them; // sends a line that begins with /.")
        return
    command.run(talk, rest.strip())


def _when(at: Any) -> str:
    return datetime.fromtimestamp(at).strftime("%Y-%m-%d %H:%M") if isinstance(at, (int, float)) else " " * 16
