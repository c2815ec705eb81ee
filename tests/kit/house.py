"""A real daemon, quickly: a data folder written beforehand, the fake model server, only the plugins a test needs."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import trio

from homed.errors import Unavailable
from homed.identity.permissions import Decision, Rule
from homed.identity.rules import Rules
from homed.paths import Paths
from homed.store.db import Store, open_store
from homed.store.rows import Tx
from tests.kit.daemon import VECTORS, Daemon, Ran, run_command, until
from tests.kit.fake_openai import FakeOpenAI, fake_openai_thread
from tests.kit.probe import Probe
from waiter.endpoint import places
from waiter.link import Link, dial

PLUGINS = Path(__file__).parents[2] / "plugins"
PACKAGED = tuple(sorted(found.parent.name for found in PLUGINS.glob("*/plugin.json")))
SETTLED = ("ready", "disabled", "stopped", "lazy")


@dataclass(kw_only=True)
class Plan:
    """What stands in the folder before the first start.

    ``only``: the packaged plugins that run (cli always does).  ``probes``: name → capabilities its manifest lists.
    ``grants``: name → capabilities in the table.  ``allow``: tools the owner is not asked about.  ``seer``: there is a
    second source of that name, which takes pictures.  ``vectors``: the embedder that comes along runs; whoever looks at
    neither memory nor processes can do without.
    """

    only: Sequence[str] = ()
    probes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    grants: Mapping[str, Sequence[str]] = field(default_factory=dict)
    allow: Sequence[str] = ()
    seer: bool = False
    vectors: bool = True


class House:
    """The folder, its daemon, its probes and the model it talks to."""

    def __init__(self, data: Path, fake: FakeOpenAI, plan: Plan) -> None:
        self.data, self.fake = data, fake
        self._has_page = "webui" in plan.only
        self.probes = {name: Probe(data, name, wanted) for name, wanted in plan.probes.items()}
        _furnish(data, plan)
        source = {"name": "fake", "base_url": fake.url, "model": fake.model}
        sources: list[dict[str, Any]] = [source, {**source, "name": "seer", "vision": True}] if plan.seer else [source]
        tables = [", ".join(f"{key} = {json.dumps(value)}" for key, value in one.items()) for one in sources]
        shown = ", ".join(f"{{ {table} }}" for table in tables)
        (data / "homed.toml").write_text(f"[core.llm]\nsources = [{shown}]\n", "utf-8")
        (data / "homed.toml").chmod(0o600)
        names = [one["name"].upper() for one in sources]
        env = {f"HOMED_SECRET__LLM__{name}__API_KEY": fake.key for name in names}
        self.daemon = Daemon(data, env=env if plan.vectors else {**env, VECTORS: "off"})

    def start(self) -> House:
        """Start the daemon; returns once every plugin is up and messages are answered."""
        for probe in self.probes.values():
            probe.forget()
        self.daemon.start(link=False)
        until(self.is_up, what="every plugin up")
        if self._has_page:  # where it is, is printed after that
            until(lambda: self.daemon.link, what="a login link")
        return self

    def is_up(self) -> bool:
        """Whether somebody answers at the socket and no plugin is still coming."""
        try:
            return all(plugin["state"] in SETTLED for plugin in self.ask("admin.plugins")["plugins"])
        except Unavailable:
            return False

    @contextmanager
    def link(self) -> Iterator[Link]:
        """A connection to the terminal socket."""
        link = dial(places({}, data=str(self.data)))
        try:
            yield link
        finally:
            link.close()

    def ask(self, method: str, *, timeout: float = 60, **params: object) -> dict[str, Any]:
        """One call through the terminal socket, as the owner."""
        with self.link() as link:
            return link.call(method, params, timeout=timeout)

    def chat(self, text: str, *, thread: str = "", client_msg_id: str = "") -> dict[str, Any]:
        """Say something and wait for the outcome: ``{input, thread, state, outcome}``."""
        return self.ask("chat", text=text, wait=True, thread=thread, client_msg_id=client_msg_id)

    def says(self, text: str, *, thread: str = "") -> str:
        """The answer to a message that must be answered."""
        answered = self.chat(text, thread=thread)
        assert answered["state"] == "answered", answered
        return str(answered["outcome"]["text"])

    def history(self, thread: str) -> list[dict[str, Any]]:
        """All events of a thread, oldest first."""
        page = self.ask("history", thread=thread, limit=500)
        events = list(page["events"])
        while page["more"]:
            page = self.ask("history", thread=thread, limit=500, before=events[0]["seq"])
            events = [*page["events"], *events]
        return events

    def rows(self, sql: str, *params: object) -> list[tuple[Any, ...]]:
        """Straight from the database's file, while the daemon works on it."""
        with closing(sqlite3.connect(f"file:{self.data / 'homed.db'}?mode=ro", uri=True)) as db:
            return db.execute(sql, params).fetchall()

    def plugin(self, name: str) -> dict[str, Any]:
        """One plugin's status."""
        return next(p for p in self.ask("admin.plugins")["plugins"] if p["name"] == name)

    def waiter(self, *words: str, timeout: float = 60) -> Ran:
        """``waiter WORDS`` as a person runs it."""
        return run_command(self._waiter(words), timeout=timeout)

    def begin_waiter(self, *words: str) -> subprocess.Popen[bytes]:
        """The same, left running."""
        return subprocess.Popen(
            self._waiter(words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL
        )

    def _waiter(self, words: Sequence[str]) -> list[str]:
        return [sys.executable, "-m", "waiter", "--data", str(self.data), *words]


@contextmanager
def house(data: Path, plan: Plan | None = None, *, script: Mapping[str, Any] | None = None) -> Iterator[House]:
    """A house at work, and nothing left of it afterwards."""
    with fake_openai_thread(script) as fake:
        built = House(data, fake, plan or Plan())
        try:
            yield built.start()
        finally:
            built.daemon.end()


def at_rest(data: Path, do: Callable[[Store], Any]) -> Any:
    """Work on the database of a folder that no daemon holds; ``do`` gets the open store and is awaited."""

    async def main() -> Any:
        async with open_store(Paths(data).db) as store:
            return await do(store)

    return trio.run(main)


def _furnish(data: Path, plan: Plan) -> None:
    Paths(data).create()
    os.chmod(data, 0o700)
    off = [name for name in PACKAGED if name != "cli" and name not in plan.only]

    def rows(tx: Tx) -> None:
        for name in off:
            tx.execute("INSERT INTO plugin_states (plugin, state, updated_at) VALUES (?, 'off', 0.0)", (name,))
        for name, capabilities in plan.grants.items():
            for one in capabilities:
                tx.execute("INSERT INTO grants (plugin, capability, granted_at) VALUES (?, ?, 0.0)", (name, one))

    async def write(store: Store) -> None:
        await store.write(rows)
        for tool in plan.allow:
            await Rules(store).add(Rule(Decision.ALLOW, tool=tool))

    at_rest(data, write)
