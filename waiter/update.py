"""State and message in, state and effects out: all that the full screen decides.  Pure."""

from __future__ import annotations

from dataclasses import replace

from . import answers, follow, keyed, orders, remembered, table
from .cost import NOTHING, cost_of
from .frames import Data, mapping, mappings, number, text
from .messages import (
    Call,
    Dial,
    Down,
    Effect,
    Handed,
    Heard,
    Lost,
    Message,
    Moved,
    Pressed,
    Refused,
    Replied,
    Tag,
    Told,
    Turned,
    Typed,
    Up,
    Wanted,
)
from .model import Attachment, End, Line, Model, Names, Outgoing, Recall, Row, Said, State
from .orders import Step, told
from .words import Words

NEVER = 1 << 62
"""A number no notice has: while there is no connection, and until the first history after it, none is applied."""


def update(state: State, message: Message, words: Words) -> tuple[State, tuple[Effect, ...]]:
    """What a message makes of the state, and what is to be done then."""
    match message:
        case Up():
            return _up(state, message)
        case Down():
            return _down(state, message)
        case Heard():
            return _heard(state, message.notice, words)
        case Lost():
            return _again(state)
        case Replied():
            return _replied(state, message.tag, message.result, words)
        case Refused():
            return _refused(state, message, words)
        case Typed():
            return _typed(state, message, words)
        case Pressed():
            return keyed.pressed(state, message, words)
        case Moved():
            return replace(state, place=message.place), ()
        case Told():
            return told(state, message.text, message.kind)
        case Handed():
            return _handed(state, message.attachment, words)
        case Turned():
            return replace(state, line=Line(message.name), model=Model(), names=_unnamed(state)), ()
        case Wanted():
            return replace(state, key_for=message.url), ()


def _unnamed(state: State) -> Names:
    return Names(connections=state.names.connections)


# -- the connection --------------------------------------------------------------------------------------------------


def _up(state: State, message: Up) -> Step:
    line = replace(state.line, state="up", error="", hint="", peer=message.peer, core=message.core)
    at = state.follow
    if state.thread:  # notices are kept until the history says what they come on top of
        at = replace(at, synced=NEVER, fetching=True, again=False, held=())
    else:
        at = replace(at, synced=0, fetching=False, held=())
    state = replace(state, line=line, follow=at, outbox=tuple(replace(one, sent=False) for one in state.outbox))
    calls: tuple[Effect, ...] = (
        Call(Tag("status"), "admin.status"),
        Call(Tag("threads"), "threads", {"limit": 50}),
    )
    state, more = _send(state) if state.outbox else orders.history(state) if state.thread else (state, ())
    return state, (*calls, *more)


def _down(state: State, message: Down) -> Step:
    """Why nobody answers is told before it ever worked, or when trying again is no use; else the status says so."""
    before = state.line
    line = replace(before, state="refused" if message.final else "lost", error=message.error, hint=message.hint)
    outbox = tuple(replace(one, sent=False) for one in state.outbox)
    state = replace(state, line=line, outbox=outbox, follow=replace(state.follow, synced=NEVER))
    if message.final or (not before.core and message.error != before.error):
        return told(state, f"{message.error}\n{message.hint}".rstrip(), "error")
    return state, ()


def _again(state: State) -> Step:
    """Something is missing: ask for the history, once more if it is being asked for already."""
    if not state.thread or state.line.state != "up":
        return state, ()
    if state.follow.fetching:
        return replace(state, follow=replace(state.follow, again=True)), ()
    return orders.history(state)


# -- notices ---------------------------------------------------------------------------------------------------------


def _heard(state: State, notice: Data, words: Words) -> Step:
    data, thread, kind = mapping(notice.get("data")), text(notice, "thread"), text(notice, "type")
    if kind == "raw_input":
        state = _adopted(state, text(data, "client_msg_id"), thread)
    if kind == "thread" and not (thread == state.thread and data.get("deleted")):
        state = _titled(state, thread, text(data, "title"))
    if kind == "plugin_state" and data.get("state") == "attention":
        return told(state, words("plugin.attention", plugin=text(data, "plugin"), reason=text(data, "reason")))
    if thread != state.thread or not thread:
        return state, ()
    if kind == "thread" and data.get("deleted"):
        return told(orders.switched(state, ""), words("deleted.elsewhere"))
    at, missing = follow.heard(state.follow, notice, state.line.peer)
    state = _counted(replace(state, follow=at), kind, data)
    if missing:
        return _again(state)
    return _explain_late(state, text(notice, "turn")) if kind == "turn" and data.get("phase") == "end" else (state, ())


def _explain_late(state: State, turn: str) -> Step:
    """What was opened while the turn ran has nothing to tell until it is written down."""
    key = f"r:{turn}"
    item = follow.find(state.follow.items, key)
    if isinstance(item, Recall) and not item.detail and key in state.opened:
        return orders.opened(state, item)
    return state, ()


def _counted(state: State, kind: str, data: Data) -> State:
    usage = mapping(data.get("usage"))
    if kind != "turn" or not usage:
        return state
    read, written = state.tokens
    tokens = (read + number(usage, "prompt"), written + number(usage, "completion"))
    return replace(state, tokens=tokens, cost=state.cost + cost_of(usage))


def _titled(state: State, thread: str, title: str) -> State:
    if thread == state.thread and title:
        state = replace(state, title=title)
    listed = tuple(replace(row, title=title) if row.id == thread and title else row for row in state.listed)
    return replace(state, listed=listed)


def _adopted(state: State, msg_id: str, thread: str) -> State:
    """homed has a message of ours: it needs no sending again, and its conversation is known now."""
    found = next((one for one in state.outbox if one.id == msg_id), None)
    if found is None:
        return state
    rest = tuple(one for one in state.outbox if one.id != msg_id)
    rest = tuple(
        replace(one, thread=thread) if one.conversation == found.conversation and not one.thread else one
        for one in rest
    )
    state = replace(state, outbox=rest)
    if found.conversation == state.conversation and not state.thread:
        state = replace(state, thread=thread)
    return state


# -- messages --------------------------------------------------------------------------------------------------------


def _typed(state: State, message: Typed, words: Words) -> Step:
    if state.key_for:
        url, key = state.key_for, message.text.strip()
        state = replace(state, key_for="")
        if not key:
            return told(state, words("remote.forgotten"))
        return told(state, words("connecting", name=url), "note", Dial(url=url, key=key))
    if not message.text.strip():
        return state, ()
    state = replace(state, place=None, chosen="")
    said, urgent = table.message(message.text), message.urgent
    if table.is_command(message.text):
        name, rest = table.split(message.text)
        if name != "interrupt" or not rest:
            return orders.run(state, message.text, words)
        said, urgent = rest, True
    out = Outgoing(
        message.id, said, state.conversation, state.thread,
        tuple(one.upload for one in state.attached), tuple(one.name for one in state.attached), urgent=urgent,
    )  # fmt: skip
    return _send(replace(state, outbox=(*state.outbox, out), attached=()))


def _send(state: State) -> Step:
    """Send the oldest message that homed has not confirmed, unless it is under way: so they arrive in order."""
    if not state.outbox or state.outbox[0].sent or state.line.state != "up":
        return state, ()
    first, *rest = state.outbox
    thread = first.thread or (state.thread if first.conversation == state.conversation else "")
    params: dict[str, object] = {"text": first.text, "client_msg_id": first.id, "can_ask": True}
    if thread:
        params["thread"] = thread
    if state.cwd:
        params["cwd"] = state.cwd
    if first.uploads:
        params["attachments"] = list(first.uploads)
    state = replace(state, outbox=(replace(first, sent=True, thread=thread), *rest))
    method = "interrupt" if first.urgent else "chat"
    return state, (Call(Tag("chat", first.id, first.conversation), method, params),)


def _receipt(state: State, tag: Tag, result: Data) -> Step:
    thread, key = text(result, "thread"), f"u:{text(result, 'input')}"
    out = next((one for one in state.outbox if one.id == tag.arg), None)
    state = _adopted(state, tag.arg, thread)
    if out is not None and state.thread == thread and follow.find(state.follow.items, key) is None:
        said = Said(key, out.text, files=out.files, queued=True)
        state = replace(state, follow=replace(state.follow, items=(*state.follow.items, said)))
    state, effects = _send(state)
    waits = state.follow.fetching and state.follow.synced == NEVER  # a history was put off until all was sent
    if state.thread == thread and not state.outbox and (waits or result.get("duplicate")):
        state, more = orders.history(state)
        return state, (*effects, *more)
    return state, effects


def _handed(state: State, attachment: Attachment, words: Words) -> Step:
    state = replace(state, attached=(*state.attached, attachment))
    return told(state, words("attach.done", name=attachment.name, size=size(attachment.bytes)))


def size(count: int) -> str:
    """Bytes for people."""
    return f"{count} B" if count < 1000 else f"{count / 1000:.0f} kB" if count < 1e6 else f"{count / 1e6:.1f} MB"


# -- answers ---------------------------------------------------------------------------------------------------------


def _replied(state: State, tag: Tag, result: Data, words: Words) -> Step:
    if tag.name in ("history", "older", "stop") and tag.conversation != state.conversation:
        return state, ()
    match tag.name:
        case "history":
            return _history(state, result)
        case "older":
            at = follow.older(state.follow, result, state.line.peer)
            return replace(state, follow=replace(at, fetching=state.follow.fetching)), ()
        case "chat":
            return _receipt(state, tag, result)
        case "status":
            return _asking(state, _status(state, result, words), words)
        case "first":
            return _first(state, result, words)
        case "threads":
            return _listed(state, answers.rows_of(result))
        case "stop" | "approve":
            return state, ()
        case "explain":
            return _explained(state, tag, result), ()
        case "told":
            return _told_of(state, tag, result, words), ()
        case "names":
            return _named(state, tag.arg, result), ()
    return answers.replied(state, tag, result, words)


def _history(state: State, result: Data) -> Step:
    at, missing = follow.synchronised(state.follow, result, state.line.peer)
    title = " ".join(text(mapping(result.get("thread")), "title").split())
    ends = [item for item in at.items if isinstance(item, End)]
    tokens = (sum(end.prompt for end in ends), sum(end.completion for end in ends))
    cost = sum((end.cost for end in ends), NOTHING)
    state = replace(state, follow=at, title=title or state.title, tokens=tokens, cost=cost)
    return _again(state) if missing else (state, ())


def _listed(state: State, rows: tuple[Row, ...]) -> Step:
    go_on, state = state.go_on, replace(state, listed=state.listed or rows, go_on=False)
    latest = next((row for row in rows if row.channel == "cli"), None)
    if not go_on or latest is None or state.thread or state.outbox:
        return state, ()
    return orders.history(orders.switched(state, latest.id, latest.title))


def _status(state: State, result: Data, words: Words) -> Step:
    """Who answers; told once when that is something a person should know before the first message."""
    said = mapping(result.get("model"))
    model = Model(
        text(said, "model"), text(said, "source"), text(said, "kind"), text(said, "note"), text(said, "state"),
        text(said, "hint"),
    )  # fmt: skip
    fresh = replace(state, model=model)
    if model == state.model or state.model.name:
        return fresh, ()
    if model.kind == "embedded":
        return told(fresh, model.note if model.note and words.language == "en" else words("hello.embedded"))
    if not said.get("configured") and not model.name:
        return told(fresh, words("hello.none", hint=model.hint))
    return fresh, ()


def _asking(before: State, step: Step, words: Words) -> Step:
    """Once it is known who answers, whether somebody still has to say how."""
    if before.model != Model():
        return step
    state, effects = step
    state, more = orders.ask(state, "first", "admin.persona_get", {"lang": words.language})
    return state, (*effects, *more)


def _first(state: State, result: Data, words: Words) -> Step:
    if not result.get("ask"):
        return state, ()
    return told(state, "\n".join([words("persona.first"), *answers.personas(result), words("persona.choose")]))


def _explained(state: State, tag: Tag, result: Data) -> State:
    item = follow.find(state.follow.items, tag.arg)
    if not isinstance(item, Recall) or not mapping(result.get("events")):  # its turn runs still
        return state
    known = [] if item.told else item.facts  # what was told of them says more
    lines = answers.detail_lines(mapping(result.get("events")), [*item.shown, *item.cold, *known])
    items = follow.put(state.follow.items, replace(item, detail="\n".join(lines)))
    return replace(state, follow=replace(state.follow, items=items))


def _told_of(state: State, tag: Tag, result: Data, words: Words) -> State:
    item = follow.find(state.follow.items, tag.arg)
    lines = remembered.told_lines(result, words)
    if not isinstance(item, Recall) or not lines:  # its turn runs still
        return state
    items = follow.put(state.follow.items, replace(item, told="\n".join(lines)))
    return replace(state, follow=replace(state.follow, items=items))


def _named(state: State, kind: str, result: Data) -> State:
    fields = {"model": ("sources", "name"), "plugin": ("plugins", "name"), "setting": ("settings", "key")}
    place, key = fields[kind]
    found = tuple(text(entry, key) for entry in mappings(result.get(place)))
    names = state.names
    if kind == "model":
        return replace(state, names=replace(names, models=found))
    if kind == "plugin":
        return replace(state, names=replace(names, plugins=found))
    return replace(state, names=replace(names, settings=found))


def _refused(state: State, message: Refused, words: Words) -> Step:
    tag = message.tag
    lost = message.code == "lost"
    if tag.name == "chat" and not lost:
        said = [one.text for one in state.outbox if one.id == tag.arg]  # they stand nowhere else any more
        state = replace(state, outbox=tuple(one for one in state.outbox if one.id != tag.arg))
        state, effects = _send(state)
        state, _ = told(state, "\n\n".join([_with_hint(message, words), *said]), "error")
        return state, effects
    if tag.name in ("chat", "status", "first", "threads", "names", "told") or lost:
        return state, ()
    if tag.name == "history":
        if tag.conversation != state.conversation:
            return state, ()
        if message.code == "timeout":
            return orders.history(state)
        state = replace(state, follow=replace(state.follow, fetching=False, held=()))
    if tag.name == "approve" and message.code == "not_found":
        return told(state, words("late"))
    return told(state, _with_hint(message, words), "error")


def _with_hint(message: Refused, words: Words) -> str:
    return "\n".join(words.kernel(said) for said in (message.error, message.hint) if said)
