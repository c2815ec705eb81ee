"""A deleted conversation: what runs ends, who waits hears it, and nothing of it is in any file."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from homed.agent import deletion
from homed.agent.uploads import Piece
from homed.errors import Conflict, HomedError, NotFound, StorageError, Unavailable
from homed.identity.permissions import Decision, Rule
from homed.memory import removal
from homed.memory.records import Input, InputState
from homed.retrieval import index
from homed.store.rows import Tx
from tests.kit.builders import (
    GUEST,
    OWNER,
    TRUSTED,
    Agent,
    FakeHost,
    FakeModel,
    Setup,
    calls,
    hangs,
    message,
    running_agent,
    says,
)


async def counts(agent: Agent) -> dict[str, int]:
    tables = ("threads", "inputs", "turns", "events", "blocks", "uploads", "accesses", "ledger", "loose_files")
    return await agent.store.read(lambda tx: {t: int(tx.value(f"SELECT count(*) FROM {t}")) for t in tables})


async def test_everything_of_it_is_gone_and_nothing_of_others(tmp_path: Path) -> None:
    async with running_agent(tmp_path) as agent:
        kept = await agent.ask("stays")
        before = await counts(agent)
        id_, _ = await agent.uploads.receive(OWNER, Piece(data=b"bytes", name="a.txt", last=True))
        gone = await agent.ask("goes", attachments=(id_,))
        await agent.ask("goes too", thread=gone.thread)
        assert await agent.conversations.delete(OWNER, gone.thread) == {"events": 4, "files": 1}
        assert await counts(agent) == before
        assert list((tmp_path / "media").glob("??/*")) == []
        last = agent.of("thread")[-1]
        assert last == {"title": "", "channel": "webui", "created": False, "deleted": True}
        for call in (agent.history(gone.thread), agent.conversations.delete(OWNER, gone.thread)):
            with pytest.raises(NotFound):
                await call
        with pytest.raises(NotFound):
            await agent.conversations.inject(OWNER, message("more", thread=gone.thread))
        with pytest.raises(NotFound):
            await agent.uploads.block(OWNER, id_, 0, 1)
        listed: dict[str, Any] = await agent.conversations.archive.threads(OWNER)
        assert [thread["id"] for thread in listed["threads"]] == [kept.thread]
        assert (await agent.ask("still here", thread=kept.thread)).state is InputState.ANSWERED


@pytest.mark.parametrize("who", [GUEST, TRUSTED])
async def test_nobody_deletes_what_they_may_not_see(tmp_path: Path, who: Any) -> None:
    async with running_agent(tmp_path) as agent:
        done = await agent.ask("mine")
        with pytest.raises(NotFound):
            await agent.conversations.delete(who, done.thread)
        assert len((await agent.history(done.thread))["events"]) == 2


async def test_a_running_turn_is_stopped_and_what_waits_gets_its_outcome(tmp_path: Path) -> None:
    async with running_agent(tmp_path, Setup(model=FakeModel(hangs("half ")))) as agent:
        first = await agent.conversations.inject(OWNER, message("runs"))
        queued = [
            await agent.conversations.inject(OWNER, message(f"waits {n}", thread=first.thread.id)) for n in range(3)
        ]
        await agent.until(lambda: agent.of("content_delta"))
        ended: dict[str, Input] = {}

        async def wait(input_id: str) -> None:
            ended[input_id] = await agent.conversations.wait(OWNER, input_id)

        with trio.fail_after(60):
            async with trio.open_nursery() as nursery:
                for receipt in (first, *queued):
                    nursery.start_soon(wait, receipt.input.id)
                await trio.testing.wait_all_tasks_blocked()
                assert await agent.conversations.delete(OWNER, first.thread.id) == {"events": 2, "files": 0}
        assert {input_.state for input_ in ended.values()} == {InputState.STOPPED}
        assert len(ended) == 4
        ends = [t for t in agent.of("turn") if t["phase"] == "end"]
        assert sorted(t["input"] for t in ends) == sorted(ended)
        assert (await counts(agent))["inputs"] == 0
        assert agent.conversations.counts == {"busy": 0, "queued": 0, "suspended": 0}
        assert agent.model.open == 0


async def test_an_open_question_is_withdrawn(tmp_path: Path) -> None:
    async def run(_: Mapping[str, Any]) -> object:
        await trio.lowlevel.checkpoint()
        raise AssertionError("nobody said yes")

    host = FakeHost()
    host.tool("danger", run, tool_class="dangerous")
    async with running_agent(tmp_path, Setup(model=FakeModel(calls(("danger", "{}"))), host=host)) as agent:
        receipt = await agent.conversations.inject(OWNER, message("do it", can_ask=True))
        await agent.until(lambda: agent.of("approval"))
        await agent.conversations.delete(OWNER, receipt.thread.id)
        assert [a["status"] for a in agent.of("approval")] == ["asked", "cancelled"]
        assert agent.conversations.approvals(OWNER) == []


async def test_a_turn_that_does_not_end_keeps_the_conversation_and_what_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deletion, "STOP_LIMIT", 0.2)
    held, released = trio.Event(), trio.Event()

    async def hold(_: Mapping[str, Any]) -> None:
        with trio.CancelScope(shield=True):
            held.set()
            await released.wait()

    host = FakeHost()
    host.stage("pre_action", hold)
    async with running_agent(tmp_path, Setup(host=host)) as agent:
        receipt = await agent.conversations.inject(OWNER, message("slow"))
        await held.wait()
        second = await agent.conversations.inject(OWNER, message("waits", thread=receipt.thread.id))
        with pytest.raises(Unavailable, match="does not end"):
            await agent.conversations.delete(OWNER, receipt.thread.id)
        released.set()
        assert (await agent.conversations.wait(OWNER, receipt.input.id)).state is InputState.STOPPED
        assert (await agent.conversations.wait(OWNER, second.input.id)).state is InputState.ANSWERED


async def test_while_it_is_being_deleted_nothing_more_is_taken_and_nobody_deletes_it_twice(tmp_path: Path) -> None:
    async with running_agent(tmp_path) as agent:
        done = await agent.ask("hi")
        write = agent.store.write
        reached, go_on = trio.Event(), trio.Event()

        async def slowly(fn: Any) -> Any:
            reached.set()
            await go_on.wait()
            return await write(fn)

        agent.store.write = slowly  # type: ignore[method-assign]
        async with trio.open_nursery() as nursery:
            nursery.start_soon(agent.conversations.delete, OWNER, done.thread)
            await reached.wait()
            with pytest.raises(Unavailable, match="being deleted"):
                await agent.conversations.inject(OWNER, message("more", thread=done.thread))
            with pytest.raises(Unavailable, match="being deleted"):
                await agent.conversations.delete(OWNER, done.thread)
            go_on.set()
        assert (await counts(agent))["threads"] == 0


async def test_a_message_that_is_just_being_stored_comes_before_or_not_at_all(tmp_path: Path) -> None:
    async with running_agent(tmp_path) as agent:
        done = await agent.ask("hi")
        results: list[object] = []

        async def inject() -> None:
            try:
                receipt = await agent.conversations.inject(OWNER, message("late", thread=done.thread))
                results.append((await agent.conversations.wait(OWNER, receipt.input.id)).state)
            except HomedError as error:
                results.append(type(error))

        async with trio.open_nursery() as nursery:
            for _ in range(20):
                nursery.start_soon(inject)
            await trio.lowlevel.checkpoint()
            await agent.conversations.delete(OWNER, done.thread)
        assert len(results) == 20
        assert set(results) <= {InputState.STOPPED, InputState.ANSWERED, NotFound, Unavailable}
        assert await counts(agent) == dict.fromkeys(await counts(agent), 0)


async def test_a_store_that_refuses_leaves_everything_as_it_was(tmp_path: Path) -> None:
    async with running_agent(tmp_path) as agent:
        done = await agent.ask("hi")
        write = agent.store.write

        async def refuse(_: object) -> None:
            await trio.lowlevel.checkpoint()
            raise StorageError("There is no space left.")

        agent.store.write = refuse  # type: ignore[method-assign, assignment]
        with pytest.raises(StorageError):
            await agent.conversations.delete(OWNER, done.thread)
        agent.store.write = write  # type: ignore[method-assign]
        assert len((await agent.history(done.thread))["events"]) == 2
        assert (await agent.ask("again", thread=done.thread)).state is InputState.ANSWERED


WORDS = {
    name: f"zq{name}zq"
    for name in (
        "asked", "answered", "thought", "argument", "result", "title", "filename", "filetext", "queued", "cold",
        "private", "noted", "renamed", "message_id",
    )
}  # fmt: skip
"""A word for each kind of place where something of a conversation is kept."""


def found_in(folder: Path) -> dict[str, list[str]]:
    """Which of the words stand in which file, in whatever encoding a file may have them."""
    hits: dict[str, list[str]] = {}
    for file in folder.rglob("*"):
        if file.is_file():
            data = file.read_bytes().lower()
            for word in WORDS.values():
                if word.encode() in data or word.encode("utf-16-le") in data:
                    hits.setdefault(word, []).append(file.name)
    return hits


async def test_its_words_are_in_no_file_afterwards(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """spec/surfaces.md §9: not in a table, the word index, the log of the database, a media file or the log."""
    caplog.set_level(logging.DEBUG)

    async def look(args: Mapping[str, Any]) -> object:
        await trio.lowlevel.checkpoint()
        return f"it is {WORDS['result']}"

    async def private(fields: Mapping[str, Any]) -> object:
        await trio.lowlevel.checkpoint()
        return {"no_memory": True} if WORDS["private"] in str(fields.get("raw_message")) else {}

    async def replaced(fields: Mapping[str, Any]) -> object:
        await trio.lowlevel.checkpoint()
        return {"final_text": f"instead {WORDS['noted']}"} if "noted one" in str(fields.get("final_text")) else {}

    host = FakeHost()
    host.tool("look", look)
    host.stage("on_input", private)
    host.stage("before_output", replaced)
    model = FakeModel(
        calls(("look", f'{{"what": "{WORDS["argument"]}"}}'), text="Let me look. "),
        says(f"It says {WORDS['answered']}.", reasoning=WORDS["thought"]),
        says("cold one"), says("private one"), says("noted one"), hangs("… "),
    )  # fmt: skip
    async with running_agent(tmp_path, Setup(model=model, host=host)) as agent:
        agent.rules.rules.append(Rule(Decision.ALLOW, tool="look"))
        data = f"text {WORDS['filetext']}\n".encode() * 200
        name = f"{WORDS['filename']}.txt"
        id_, _ = await agent.uploads.receive(OWNER, Piece(data=data, name=name, last=True))
        first = await agent.ask(
            f"Please {WORDS['asked']}", attachments=(id_,), client_msg_id=WORDS["message_id"]
        )  # fmt: skip
        thread = first.thread
        await agent.ask(WORDS["cold"], thread=thread)
        await agent.ask(WORDS["private"], thread=thread)
        await agent.ask("have something else sent", thread=thread)
        await agent.conversations.archive.rename(OWNER, thread, WORDS["title"])
        await agent.conversations.archive.rename(OWNER, thread, WORDS["renamed"])
        await agent.store.write(
            lambda tx: tx.execute("UPDATE events SET layer = 'cold' WHERE text = ?", (WORDS["cold"],))
        )
        await agent.conversations.inject(OWNER, message("this one hangs", thread=thread))
        with trio.fail_after(60):  # or the other conversation's question is given the answer that hangs
            await model.hanging.wait()
        await agent.conversations.inject(OWNER, message(WORDS["queued"], thread=thread))
        other = await agent.ask("Something else entirely")
        await agent.store.write(index.catch_up)
        was = found_in(tmp_path)
        missing = set(WORDS.values()) - was.keys() - {WORDS["title"]}  # replaced by the second title already
        assert missing == set(), "the test must be able to fail: each word has been somewhere"
        await agent.conversations.delete(OWNER, thread)
        assert found_in(tmp_path) == {}
        await agent.ask("and on", thread=other.thread)
        assert found_in(tmp_path) == {}
        assert await agent.store.read(_words_left) == []
    assert found_in(tmp_path) == {}
    assert [word for word in WORDS.values() if word in caplog.text] == []


def _words_left(tx: Tx) -> list[str]:
    terms = [str(term) for (term,) in tx.all("SELECT term FROM word_terms")]
    return [term for term in terms if any(word in term for word in WORDS.values())]


async def test_a_reader_in_the_way_of_the_log_is_waited_for(tmp_path: Path) -> None:
    async with running_agent(tmp_path) as agent:
        done = await agent.ask(f"Remember {WORDS['asked']}")
        async with trio.open_nursery() as nursery:
            begun = trio.Event()

            def linger(tx: Tx) -> None:
                tx.value("SELECT count(*) FROM events")
                trio.from_thread.run_sync(begun.set)
                trio.from_thread.run(trio.sleep, 0.5)

            nursery.start_soon(agent.store.read, linger)
            await begun.wait()
            await agent.conversations.delete(OWNER, done.thread)
        assert found_in(tmp_path) == {}


async def test_a_crash_before_the_files_are_removed_is_made_good_at_the_start(tmp_path: Path) -> None:
    async with running_agent(tmp_path) as agent:
        id_, _ = await agent.uploads.receive(OWNER, Piece(data=b"bytes", name="a.txt", last=True))
        done = await agent.ask("see", attachments=(id_,))

        async def crash() -> None:
            await trio.lowlevel.checkpoint()
            raise Conflict("the power went")

        agent.conversations._deletion._collect = crash
        with pytest.raises(Conflict):
            await agent.conversations.delete(OWNER, done.thread)
        assert len(list((tmp_path / "media").glob("??/*"))) == 1
    async with running_agent(tmp_path) as agent:
        await agent.ask("ready")
        assert list((tmp_path / "media").glob("??/*")) == []


def many_events(tx: Tx, thread: str, count: int, word: str) -> None:
    scope, channel = tx.all("SELECT scope, channel FROM threads WHERE id = ?", (thread,))[0]
    tx.many(
        "INSERT INTO events (id, scope, thread, channel, kind, text, created_at) VALUES (?, ?, ?, ?, 'user', ?, 1.0)",
        [(f"ev{thread}{n}", scope, thread, channel, f"number {n} says {word}{n} and 西瓜{n}") for n in range(count)],
    )
    index.catch_up(tx)


@pytest.mark.parametrize("crash", [False, True])
async def test_the_words_of_a_long_one_leave_the_index_bit_by_bit_also_after_a_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, crash: bool
) -> None:
    """More than are overwritten one by one are marked as gone, then merged away; a start does what a crash cut off."""
    count = index.DROPS + index.FEW + 100
    async with running_agent(tmp_path) as agent:
        done, other = await agent.ask("begin"), await agent.ask("something else")
        await agent.store.write(lambda tx: many_events(tx, done.thread, count, WORDS["asked"]))
        await agent.store.write(lambda tx: many_events(tx, other.thread, count, "melon"))
        if crash:

            def power_cut(_: Tx) -> bool:
                raise Conflict("the power went")

            monkeypatch.setattr(index, "tidy", power_cut)
            with pytest.raises(Conflict):
                await agent.conversations.delete(OWNER, done.thread)
            monkeypatch.undo()
        else:
            await agent.conversations.delete(OWNER, done.thread)
            assert found_in(tmp_path) == {}
    if crash:
        assert found_in(tmp_path) != {}, "otherwise this shows nothing"
    async with running_agent(tmp_path) as agent:
        with trio.fail_after(60):
            while True:
                if not await agent.store.read(_unfinished):
                    break
        await agent.store.write(lambda tx: tx.execute("INSERT INTO word_index (word_index) VALUES ('integrity-check')"))
        assert await agent.store.read(_words_left) == []
        listed: dict[str, Any] = await agent.conversations.archive.threads(OWNER, "melon7 ")
        assert [thread["id"] for thread in listed["threads"]] == [other.thread]
    assert found_in(tmp_path) == {}


class PowerCut:
    """Ends the removal at the ``nth`` piece, as a crash would."""

    def __init__(self, nth: int) -> None:
        self.left = nth

    def __call__(self, tx: Tx, thread: str) -> bool:
        self.left -= 1
        if self.left == 0:
            raise Conflict("the power went")
        return REMOVE_SOME(tx, thread)


REMOVE_SOME = removal.remove_some


@pytest.mark.parametrize("nth", [1, 2, 4, 5, 8])
async def test_one_that_was_cut_off_is_nobodys_and_the_next_start_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nth: int
) -> None:
    monkeypatch.setattr(removal, "ROWS", 40)
    async with running_agent(tmp_path) as agent:
        id_, _ = await agent.uploads.receive(OWNER, Piece(data=WORDS["filetext"].encode(), name="a.txt", last=True))
        kept, done = await agent.ask("stays"), await agent.ask(WORDS["asked"], attachments=(id_,))
        event = (await agent.history(done.thread))["events"][0]["id"]
        await agent.store.write(lambda tx: many_events(tx, done.thread, 150, WORDS["answered"]))
        monkeypatch.setattr(removal, "remove_some", PowerCut(nth))
        with pytest.raises(Conflict):
            await agent.conversations.delete(OWNER, done.thread)
        monkeypatch.setattr(removal, "remove_some", REMOVE_SOME)
        assert found_in(tmp_path) != {}, "otherwise this shows nothing"
        for gone in (
            agent.history(done.thread),
            agent.conversations.archive.event(OWNER, event),
            agent.uploads.block(OWNER, id_, 0, 1),
            agent.conversations.inject(OWNER, message("more", thread=done.thread)),
            agent.conversations.delete(OWNER, done.thread),
        ):
            with pytest.raises(NotFound):
                await gone
        listed: dict[str, Any] = await agent.conversations.archive.threads(OWNER)
        assert [thread["id"] for thread in listed["threads"]] == [kept.thread]
    async with running_agent(tmp_path) as agent:
        with trio.fail_after(60):
            while await agent.store.read(_unfinished) or list((tmp_path / "media").glob("??/*")):
                pass
        assert (await counts(agent))["threads"] == 1
        assert (await agent.ask("still here", thread=kept.thread)).state is InputState.ANSWERED
    assert found_in(tmp_path) == {}


async def test_others_write_while_a_long_one_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every transaction of it takes a bounded piece, and a turn beside it is answered in the middle."""
    monkeypatch.setattr(removal, "ROWS", 40)
    async with running_agent(tmp_path) as agent:
        done, other = await agent.ask("begin"), await agent.ask("something else")
        await agent.store.write(lambda tx: many_events(tx, done.thread, 400, "melon"))
        taken: list[int] = []
        write = agent.store.write

        async def looked_at(fn: Any) -> Any:
            def count(tx: Tx) -> Any:
                before = int(tx.value("SELECT count(*) FROM events"))
                result = fn(tx)
                taken.append(before - int(tx.value("SELECT count(*) FROM events")))
                return result

            result = await write(count)
            if sum(taken) >= 80:
                midway.set()
            return result

        midway = trio.Event()
        agent.store.write = looked_at  # type: ignore[method-assign]
        async with trio.open_nursery() as nursery:
            nursery.start_soon(agent.conversations.delete, OWNER, done.thread)
            await midway.wait()
            answered = await agent.ask("beside it", thread=other.thread)
            assert answered.state is InputState.ANSWERED
            left = await agent.store.read(lambda tx: tx.value("SELECT count(*) FROM events"))
            assert left > 4, "the removal was still going on"
        assert max(taken) == 40, taken
        assert (await counts(agent))["events"] == 4


async def test_whoever_asked_may_go_away_and_a_stop_does_not_wait_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(removal, "ROWS", 5)
    async with running_agent(tmp_path) as agent:
        first, second = await agent.ask("one"), await agent.ask("two")
        for done in (first, second):
            await agent.store.write(lambda tx, id_=done.thread: many_events(tx, id_, 200, "melon"))  # type: ignore[misc]
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(agent.conversations.delete, OWNER, first.thread)
                await agent.until(
                    lambda: any(thread["deleted"] for thread in agent.of("thread") if "deleted" in thread)
                )
                scope.cancel()
        with trio.fail_after(60):
            while (await counts(agent))["threads"] > 1:
                pass
            while await agent.store.read(_unfinished):
                pass
        reached, write = trio.Event(), agent.store.write

        async def stuck(fn: Any) -> Any:
            hidden = await agent.store.read(removal.hidden)
            if hidden or reached.is_set():
                reached.set()
                await trio.sleep_forever()
            return await write(fn)

        agent.store.write = stuck  # type: ignore[method-assign]
        told: list[str] = []

        async def ask() -> None:
            try:
                await agent.conversations.delete(OWNER, second.thread)
            except Unavailable as error:
                told.append(f"{error.message} {error.hint}")

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask)
            await reached.wait()
            begun = trio.current_time()
            agent.nursery.cancel_scope.cancel()
        assert trio.current_time() - begun < 30
        assert "next start" in told[0]
    async with running_agent(tmp_path) as agent:
        with trio.fail_after(60):
            while (await counts(agent))["threads"]:
                pass


def _unfinished(tx: Tx) -> bool:
    if removal.hidden(tx):
        return True
    return bool(tx.value("SELECT untidy FROM word_marks") or tx.value("SELECT count(*) FROM word_drops"))
