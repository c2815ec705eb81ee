"""What a plugin may ask of the kernel beside conversations, by capability: ``kernel.memory``, ``kernel.llm``, …

The same names are there on a `Kernel` and on a `Context`.  On a context the calls carry its token: they act for the
person of that turn, and ``peer`` is left out.  On a kernel, ``peer`` says for whom; it must be the plugin's own.
Each call raises the kernel's own error: ``Denied`` names the capability that is missing, ``Unavailable`` says what is
not built yet.  ``docs/wire.md`` has the shapes.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

Json = dict[str, Any]
Peer = str | Mapping[str, str]
Role = Literal["owner", "trusted", "guest"]

GRACE = 5.0
"""Seconds that a question to a model may take on the wire beyond its own limit."""


class Caller(Protocol):
    """`Kernel` or `Context`."""

    async def call(
        self, method: str, params: Mapping[str, object] | None = None, *, timeout: float | None = None
    ) -> Any:
        """Call any method."""


class _Room:
    """A group of methods."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    async def _ask(self, method: str, peer: Peer | None, **params: object) -> Json:
        given = {key: value for key, value in params.items() if value is not None}
        result: Json = await self._caller.call(method, given if peer is None else {"peer": peer, **given})
        return result


class Memory(_Room):
    """``memory``: what is remembered; ``memory.write``: changes of it, in a person's name, never on a context.

    ``docs/wire.md`` has what filters and changes there are, and the shapes of what comes back.
    """

    async def search(
        self,
        query: str,
        *,
        limit: int = 5,
        layer: Literal["all", "window", "cold"] = "all",
        peer: Peer | None = None,
    ) -> list[Json]:
        """What was said that the query is about, the most relevant first; nothing changes by it."""
        return list((await self._ask("memory.search", peer, query=query, limit=limit, layer=layer))["found"])

    async def explain(self, turn: str = "last", *, peer: Peer | None = None) -> Json:
        """What a turn was shown and why."""
        return await self._ask("memory.explain", peer, turn=turn)

    async def stats(self, *, peer: Peer | None = None) -> Json:
        """How much is remembered and how it stands."""
        return await self._ask("memory.stats", peer)

    async def records(self, query: str = "", *, peer: Peer | None = None, **filters: object) -> Json:
        """Records, a page at a time: ``{"records": […], "next": … or None, "of": int}``."""
        return await self._ask("memory.records", peer, query=query, **filters)

    async def record(self, id: str, *, history: bool = True, peer: Peer | None = None) -> Json:
        """One, with where it comes from word for word, and what became of it."""
        return await self._ask("memory.record", peer, id=id, history=history)

    async def injections(self, *, peer: Peer | None = None, **filters: object) -> Json:
        """What turns were told, the newest first: ``{"injections": […], "next": … or None}``."""
        return await self._ask("memory.injections", peer, **filters)

    async def graph(self, center: str = "", *, depth: int = 1, limit: int = 60, peer: Peer | None = None) -> Json:
        """Who and what is known, around one or of the best known."""
        return await self._ask("memory.graph", peer, center=center, depth=depth, limit=limit)

    async def cold(self, query: str = "", *, before: str = "", limit: int = 30, peer: Peer | None = None) -> Json:
        """What left the window; looking moves nothing."""
        return await self._ask("memory.cold", peer, query=query, before=before, limit=limit)

    async def thresholds(self, *, peer: Peer | None = None) -> list[Json]:
        """Each with the failure that it prevents, and why it was changed."""
        return list((await self._ask("memory.thresholds", peer))["thresholds"])

    async def note(self, text: str, *, peer: Peer | None = None, **more: object) -> Json:
        """Write a record by hand."""
        return await self._ask("memory.note", peer, text=text, **more)

    async def edit(self, id: str, revision: int, *, peer: Peer | None = None, **changes: object) -> Json:
        """Correct one that stands at this revision; what it said before is kept."""
        return await self._ask("memory.edit", peer, id=id, revision=revision, **changes)

    async def hide(self, id: str, *, peer: Peer | None = None) -> Json:
        """Have it found by nothing."""
        return await self._ask("memory.hide", peer, id=id)

    async def restore(self, id: str, *, peer: Peer | None = None) -> Json:
        """Have it found again."""
        return await self._ask("memory.restore", peer, id=id)

    async def reinstate(self, id: str, *, peer: Peer | None = None) -> Json:
        """What was superseded holds again."""
        return await self._ask("memory.reinstate", peer, id=id)

    async def combine(self, keep: str, gone: str, *, peer: Peer | None = None) -> Json:
        """Two become one; ``reinstate`` parts them."""
        return await self._ask("memory.combine", peer, keep=keep, gone=gone)

    async def bring_back(self, event: str, *, peer: Peer | None = None) -> list[str]:
        """From the cold layer into the window; the ids of all that belongs to it."""
        return list((await self._ask("memory.bring_back", peer, event=event))["events"])


class Cold(_Room):
    """``cold``: what has left the window.  On a context only."""

    async def query(self, query: str, *, top_k: int = 3) -> Json:
        """What the turn does not show; what is cold of it comes back into the window once the turn is answered."""
        return await self._ask("cold.query", None, query=query, top_k=top_k)


class TextLog(_Room):
    """``textlog``: what was said, day by day."""

    async def day(self, day: str, *, peer: Peer | None = None) -> AsyncIterator[Json]:
        """Everything of a day (``2026-01-31``, local time) in the order of time, page by page."""
        after, more = 0, True
        while more:
            page = await self._ask("textlog.read", peer, day=day, after=after)
            for line in page["lines"]:
                yield json.loads(line)
            after, more = page["next"], page["more"]


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's answer; ``reason`` is stop, length or the source's own word; ``usage`` counts tokens."""

    text: str
    reason: str
    source: str
    model: str
    usage: Mapping[str, int]


class Llm(_Room):
    """``llm``: the models, and questions of the plugin's own."""

    async def list(self) -> list[Json]:
        """The sources there are; never a key."""
        return list((await self._ask("llm.list", None))["sources"])

    async def current(self) -> Json | None:
        """The source in use."""
        found: Json | None = (await self._ask("llm.current", None))["source"]
        return found

    async def set(self, name: str, *, peer: Peer) -> None:
        """Answer with another source from now on; an owner's to say, in person."""
        await self._ask("llm.set", peer, name=name)

    async def complete(
        self,
        messages: str | Sequence[Mapping[str, str]],
        *,
        max_tokens: int = 512,
        timeout: float = 60.0,
        temperature: float | None = None,
        source: str | None = None,
    ) -> Completion:
        """Ask a model, without tools.  ``messages``: what a user says, or ``{"role", "content"}`` each.

        Raises TimedOut after ``timeout`` seconds.  Cancelled: the request is ended.
        """
        said = [{"role": "user", "content": messages}] if isinstance(messages, str) else [dict(m) for m in messages]
        params: Json = {"messages": said, "max_tokens": max_tokens, "timeout": timeout}
        params |= {} if temperature is None else {"temperature": temperature}
        params |= {} if source is None else {"source": source}
        answer: Json = await self._caller.call("llm.complete", params, timeout=timeout + GRACE)
        return Completion(answer["text"], answer["reason"], answer["source"], answer["model"], answer["usage"])


class Social(_Room):
    """``social.read`` and ``social.write``: people."""

    async def person(self, person: str = "", *, peer: Peer | None = None) -> Json:
        """Somebody; without ``person``, whoever it is for."""
        found: Json = (await self._ask("social.get_person", peer, person=person))["person"]
        return found

    async def persons(
        self, query: str = "", *, limit: int = 50, after: str = "", peer: Peer | None = None
    ) -> tuple[list[Json], bool]:
        """Those who may be known of, by id, and whether there are more."""
        page = await self._ask("social.list_persons", peer, query=query, limit=limit, after=after)
        return list(page["persons"]), bool(page["more"])

    async def trait(self, trait: str = "", *, person: str = "", peer: Peer | None = None) -> Json:
        """What is known of somebody.  Unavailable: homed keeps no traits yet."""
        return await self._ask("social.get_trait", peer, person=person, trait=trait)

    async def relations(self, person: str = "", *, peer: Peer | None = None) -> Json:
        """Whom somebody knows.  Unavailable: homed keeps no relations yet."""
        return await self._ask("social.get_relations", peer, person=person)

    async def network(self, person: str = "", *, depth: int = 1, peer: Peer | None = None) -> Json:
        """The same, further out.  Unavailable, as relations are."""
        return await self._ask("social.get_network", peer, person=person, depth=depth)

    async def set_role(self, person: str, role: Role, *, peer: Peer) -> Json:
        """Give somebody a role; an owner's to say, in person."""
        found: Json = (await self._ask("social.set_role", peer, person=person, role=role))["person"]
        return found

    async def set_name(self, person: str, name: str, *, peer: Peer | None = None) -> Json:
        """Call somebody so, whatever the channel says; empty: as the channel says."""
        found: Json = (await self._ask("social.set_name", peer, person=person, name=name))["person"]
        return found


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """How a call ended: ``status`` is ok, error or denied; ``untrusted``: strangers' words may stand in it."""

    content: str
    status: str
    is_error: bool
    untrusted: bool


class Tools(_Room):
    """``tools``: tools of other plugins, within a tool call.  On a context only."""

    async def list(self) -> list[Json]:
        """Those that the turn's person may use, or be asked about."""
        return list((await self._ask("tools.list", None))["tools"])

    async def call(self, tool: str, /, **args: object) -> ToolAnswer:
        """Call one as the model could: with the person's permissions, questions and limits.  A refusal is an answer.

        Cancelled: the tool is cancelled.
        """
        answer: Json = await self._caller.call("tools.call", {"tool": tool, "args": args})
        return ToolAnswer(answer["content"], answer["status"], answer["is_error"], answer["untrusted"])


class AllSettings(_Room):
    """``settings_cross``: the settings of homed and of all plugins, for owners; never a password."""

    async def get(self, key: str, *, peer: Peer | None = None) -> Json:
        """One, with its definition."""
        return await self._ask("settings.get", peer, key=key)

    async def list(self, prefix: str = "", *, peer: Peer | None = None) -> list[Json]:
        """Those whose key begins so."""
        return list((await self._ask("settings.list", peer, prefix=prefix))["settings"])

    async def set(self, key: str, value: object, *, reason: str = "", peer: Peer | None = None) -> Json:
        """Change one: ``{key, applied, note}``.  ``reason``: a threshold is not changed without one, which is kept."""
        params: Json = {"key": key, "value": value} if peer is None else {"peer": peer, "key": key, "value": value}
        params |= {"reason": reason} if reason else {}
        result: Json = await self._caller.call("settings.set", params)
        return result

    async def change(self, changes: Mapping[str, object], *, reason: str = "", peer: Peer | None = None) -> Json:
        """Change several, all or none; ``reason`` as of `set`."""
        params: Json = {"changes": dict(changes)} if peer is None else {"peer": peer, "changes": dict(changes)}
        params |= {"reason": reason} if reason else {}
        result: Json = await self._caller.call("settings.change", params)
        return result


class Knowledge(_Room):
    """``knowledge``: the knowledge base.  Unavailable: there is none yet."""

    async def search(self, query: str, *, limit: int = 5, peer: Peer | None = None) -> list[Json]:
        """What the query is about."""
        return list((await self._ask("knowledge.search", peer, query=query, limit=limit))["found"])

    async def list(self, *, limit: int = 50, after: str = "", peer: Peer | None = None) -> list[Json]:
        """The documents there are."""
        return list((await self._ask("knowledge.list", peer, limit=limit, after=after))["documents"])

    async def read(self, document: str, *, peer: Peer | None = None) -> Json:
        """One document."""
        return await self._ask("knowledge.read", peer, document=document)

    async def add(self, name: str, text: str, *, peer: Peer | None = None) -> Json:
        """Keep a document."""
        return await self._ask("knowledge.add", peer, name=name, text=text)

    async def remove(self, document: str, *, peer: Peer | None = None) -> None:
        """Forget one."""
        await self._ask("knowledge.remove", peer, document=document)


class Rooms(ABC):
    """The groups as attributes; what `Kernel` and `Context` have in common."""

    @abstractmethod
    async def call(
        self, method: str, params: Mapping[str, object] | None = None, *, timeout: float | None = None
    ) -> Any:
        """Call any method of ``docs/wire.md``; ``timeout`` in seconds."""

    @property
    def memory(self) -> Memory:
        """What is remembered (capability ``memory``)."""
        return Memory(self)

    @property
    def cold(self) -> Cold:
        """What has left the window (``cold``)."""
        return Cold(self)

    @property
    def textlog(self) -> TextLog:
        """What was said, day by day (``textlog``)."""
        return TextLog(self)

    @property
    def llm(self) -> Llm:
        """Models (``llm``)."""
        return Llm(self)

    @property
    def social(self) -> Social:
        """People (``social.read``, ``social.write``)."""
        return Social(self)

    @property
    def tools(self) -> Tools:
        """Tools of others (``tools``)."""
        return Tools(self)

    @property
    def all_settings(self) -> AllSettings:
        """Settings of homed and of all plugins (``settings_cross``); ``settings`` are the plugin's own."""
        return AllSettings(self)

    @property
    def knowledge(self) -> Knowledge:
        """The knowledge base (``knowledge``)."""
        return Knowledge(self)

    async def meta(self) -> Json:
        """Where the plugin runs and what it may call: ``{version, protocol, plugin, trust, capabilities, methods}``."""
        result: Json = await self.call("core.meta")
        return result

    async def publish(self, type: str, *, peer: Peer | None = None, **data: object) -> int:
        """Post a notice, ``terminal_output`` or ``skill_detected`` (``events.publish``); its number."""
        params: Json = {"notice": {"type": type, **data}}
        result: Json = await self.call("events.publish", params if peer is None else {"peer": peer, **params})
        return int(result["seq"])
