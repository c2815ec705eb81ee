"""What the commands of the full screen do: state in, state and effects out.  Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from . import remembered, table
from .cost import NOTHING
from .follow import last_turn
from .frames import Data
from .messages import Call, Dial, Effect, Export, Leave, Tag, Upload
from .model import Following, Note, Place, Recall, Row, State
from .words import Words

Step = tuple[State, tuple[Effect, ...]]
Handler = Callable[[State, str, Words], Step]


def run(state: State, line: str, words: Words) -> Step:
    """A line that begins with ``/``.  An unknown command is told, never sent to the model."""
    name, rest = table.split(line)
    handler = HANDLERS.get(name)
    if handler is None:
        return told(state, words("unknown", name=name[:40]), "error")
    return handler(state, rest, words)


def told(state: State, said: str, kind: str = "note", *effects: Effect) -> Step:
    """With a note at the end of the conversation."""
    items = state.follow.items
    note = Note(f"w:{state.notes}", said, kind, items[-1].key if items else "")
    return replace(state, notes=state.notes + 1, follow=replace(state.follow, items=(*items, note))), effects


def ask(state: State, name: str, method: str, params: Data | None = None, *, arg: str = "") -> Step:
    """Call homed; the answer comes back under ``name``."""
    return state, (Call(Tag(name, arg, state.conversation), method, params or {}),)


def opened(state: State, recall: Recall) -> Step:
    """Ask what a recall line opens to: the events, and what was told of the records."""
    state, effects = ask(state, "explain", "memory.explain", {"turn": recall.turn}, arg=recall.key)
    if not recall.facts:
        return state, effects
    state, more = ask(state, "told", "memory.injections", {"turn": recall.turn}, arg=recall.key)
    return state, (*effects, *more)


def switched(state: State, thread: str, title: str = "") -> State:
    """With another conversation on the screen, empty until its history comes."""
    return replace(
        state,
        thread=thread, title=title, conversation=state.conversation + 1, follow=Following(), place=None, chosen="",
        opened=frozenset(), tokens=(0, 0), cost=NOTHING,
    )  # fmt: skip


def history(state: State) -> Step:
    """Ask for the newest page of the conversation."""
    state = replace(state, follow=replace(state.follow, fetching=True, again=False, held=()))
    return ask(state, "history", "history", {"thread": state.thread, "limit": 50})


# -- commands --------------------------------------------------------------------------------------------------------


def _help(state: State, _rest: str, words: Words) -> Step:
    names = [f"/{entry.name} {entry.usage}".rstrip() for entry in table.ENTRIES]
    wide = min(26, max(map(len, names)))
    lines = [f"{name:<{wide}}  {words(f'help.{e.name}')}" for name, e in zip(names, table.ENTRIES, strict=True)]
    state, effects = told(state, "\n".join([*lines, "", words("help.keys")]), "help")
    return replace(state, place=Place(state.follow.items[-1].key, 0)), effects  # from its beginning, if it is longer


def _stop(state: State, _rest: str, words: Words) -> Step:
    if not state.thread:
        return told(state, words("nothing"))
    if state.follow.running is None:
        return ask(state, "/stop", "stop", {"thread": state.thread})
    return stop(state)


def _interrupt(state: State, rest: str, words: Words) -> Step:
    """With words it is sent (`update`); without it says how."""
    return told(state, words("usage", name="interrupt", usage="TEXT")) if not rest else (state, ())


def stop(state: State) -> Step:
    """Stop the turn under way: from now on nothing more of it is shown."""
    running = state.follow.running
    if running is None or not state.thread:
        return state, ()
    follow = replace(
        state.follow,
        running=replace(running, doing="stopping"),
        hushed=state.follow.hushed | {running.turn},
    )
    return ask(replace(state, follow=follow), "stop", "stop", {"thread": state.thread})


def _new(state: State, _rest: str, words: Words) -> Step:
    return told(switched(state, ""), words("new"))


def _threads(state: State, rest: str, _words: Words) -> Step:
    return ask(state, "/threads", "threads", {"query": rest, "limit": 20})


def _row(state: State, rest: str) -> Row | None:
    """The conversation meant by a number of the list, an id, or the beginning of a title."""
    if rest.isdecimal() and 1 <= int(rest) <= len(state.listed):
        return state.listed[int(rest) - 1]
    fits = [row for row in state.listed if rest in (row.id, row.title)]
    return fits[0] if fits else Row(rest, "") if rest.startswith("th") and " " not in rest else None


def _open(state: State, rest: str, words: Words) -> Step:
    row = _row(state, rest) if rest else None
    if row is None:
        return told(state, words("which"))
    return history(switched(state, row.id, row.title))


def _rename(state: State, rest: str, words: Words) -> Step:
    if not state.thread:
        return told(state, words("no_thread"))
    if not rest:
        return told(state, words("rename.what"))
    return ask(state, "/rename", "io.thread_rename", {"thread": state.thread, "title": rest}, arg=rest)


def _delete(state: State, rest: str, words: Words) -> Step:
    here = Row(state.thread, state.title) if state.thread else None
    row = _row(state, rest.removesuffix(" yes").strip()) if rest not in ("", "yes") else here
    if row is None:
        return told(state, words("which") if rest else words("no_thread"))
    if not rest.endswith("yes"):
        again = f"/delete {rest} yes".replace("  ", " ")
        return told(state, words("delete.sure", title=row.title or words("untitled"), again=again))
    return ask(state, "/delete", "io.thread_delete", {"thread": row.id}, arg=row.id)


def _export(state: State, rest: str, words: Words) -> Step:
    if not state.thread:
        return told(state, words("no_thread"))
    if not rest:
        return told(state, words("usage", name="export", usage="FILE"))
    return state, (Export(state.thread, state.title, rest),)


def _attach(state: State, rest: str, words: Words) -> Step:
    if not rest:
        return told(state, words("usage", name="attach", usage="FILE"))
    return told(state, words("attach.up", path=rest), "note", Upload(rest))


def _memory(state: State, rest: str, words: Words) -> Step:
    verb, _, more = rest.partition(" ")
    more = more.strip()
    if verb in ("", "why") and not more:
        turn = last_turn(state.follow.items)
        if not turn:
            return told(state, words("memory.none"))
        return ask(state, "/memory", "memory.explain", {"turn": turn})
    if verb == "forget" and more.endswith(" yes"):  # the person has seen what goes
        target = more.removesuffix(" yes").strip()
        return ask(state, "/memory forgotten", "admin.memory_forget", {"kind": "fact", "target": target}, arg=target)
    wanted = remembered.asked(verb, more)
    if wanted is None:
        takes = remembered.usage(verb)
        return told(state, words("usage", name="memory", usage=f"{verb} {takes}" if takes else table.MEMORY))
    method, params = wanted
    return ask(state, f"/memory {verb}", method, params, arg=more)


def _models(state: State, rest: str, words: Words) -> Step:
    verb, _, name = rest.partition(" ")
    if verb == "use" and name.strip():
        return ask(state, "/models use", "admin.models_use", {"name": name.strip()}, arg=name.strip())
    if rest:
        return told(state, words("usage", name="models", usage="[use NAME]"))
    return ask(state, "/models", "admin.models_list")


def _plugins(state: State, rest: str, words: Words) -> Step:
    verb, _, name = rest.partition(" ")
    if verb in ("start", "stop") and name.strip():
        return ask(state, "/plugins do", f"admin.plugin_{verb}", {"name": name.strip()}, arg=name.strip())
    if rest:
        return told(state, words("usage", name="plugins", usage="[start|stop NAME]"))
    return ask(state, "/plugins", "admin.plugins")


def _settings(state: State, rest: str, words: Words) -> Step:
    verb, _, more = rest.partition(" ")
    key, _, value = more.strip().partition(" ")
    if verb == "set" and key and value.strip():
        # thresholds keep why they were moved; in other values that may be a word like any other
        value, _, reason = value.partition(" --reason ") if key.startswith("core.memory.") else (value, "", "")
        why = {"reason": reason.strip()} if reason.strip() else {}
        return ask(state, "/settings set", "admin.config_set", {"key": key, "value": value.strip(), **why}, arg=key)
    if verb == "get" and key:
        return ask(state, "/settings get", "admin.config_get", {"key": key}, arg=key)
    if verb in ("set", "get"):
        return told(state, words("settings.how"))
    return ask(state, "/settings", "admin.config_list", arg=(more if verb == "list" else rest).strip())


def _persona(state: State, rest: str, words: Words) -> Step:
    verb, _, more = rest.partition(" ")
    lang = {"lang": words.language}
    if not rest:
        return ask(state, "/persona", "admin.persona_get", lang)
    if verb == "text" and more.strip():
        return ask(state, "/persona set", "admin.persona_set", {"text": more.strip(), **lang})
    if more.strip():
        return told(state, words("usage", name="persona", usage="[NAME|text TEXT|none|later]"))
    if verb == "later":
        return ask(state, "/persona later", "admin.persona_set", {"later": True, **lang})
    given = {"text": ""} if verb == "none" else {"preset": verb.lower()}
    return ask(state, "/persona set", "admin.persona_set", {**given, **lang})


def _status(state: State, _rest: str, _words: Words) -> Step:
    return ask(state, "/status", "admin.status")


def _connect(state: State, rest: str, words: Words) -> Step:
    names = state.names.connections
    if not rest:
        said = words("connect.names", names=", ".join(names)) if names else words("connect.none", path="waiter.yaml")
        return told(state, said)
    return _dial(state, Dial(name=rest), rest, words)


def _remote(state: State, rest: str, words: Words) -> Step:
    if not rest:
        return told(state, words("remote.what"))
    return _dial(state, Dial(url=rest), rest, words)


def _local(state: State, _rest: str, words: Words) -> Step:
    return _dial(state, Dial(), words("local"), words)


def _dial(state: State, dial: Dial, name: str, words: Words) -> Step:
    """Another homed has other conversations: the screen is empty.  What homed has not confirmed is sent to neither of
    them any more; its words are told, so that they can be said again."""
    unsent = [one.text for one in state.outbox]
    fresh = replace(switched(state, ""), outbox=(), attached=(), listed=())
    if unsent:
        fresh, _ = told(fresh, "\n\n".join([words("unsent.dropped"), *unsent]), "error")
    return told(fresh, words("connecting", name=name), "note", dial)


def _theme(state: State, rest: str, words: Words) -> Step:
    if rest and rest not in ("dark", "light", "auto"):
        return told(state, words("bad_theme"))
    following = {"auto": "dark", "dark": "light", "light": "auto"}
    theme = rest or following[state.theme]
    return told(replace(state, theme=theme), words("theme.now", theme=theme))


def _quit(state: State, _rest: str, _words: Words) -> Step:
    return replace(state, over=True), (Leave(),)


HANDLERS: dict[str, Handler] = {
    "help": _help, "stop": _stop, "interrupt": _interrupt, "new": _new, "threads": _threads, "open": _open,
    "rename": _rename,
    "delete": _delete, "export": _export, "attach": _attach, "memory": _memory, "models": _models,
    "plugins": _plugins, "settings": _settings, "persona": _persona, "status": _status, "connect": _connect,
    "remote": _remote, "local": _local, "theme": _theme, "quit": _quit,
}  # fmt: skip
