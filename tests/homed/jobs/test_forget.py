"""B7: what is forgotten stands in no file, nothing that rested on it stays, nothing makes it again."""

from __future__ import annotations

import hashlib
import random
import re
from pathlib import Path

import pytest
import trio

from homed.errors import Conflict, NotFound
from homed.memory import capsules, facts, inputs, mutate, removal, stable, threads
from homed.memory import events as table
from homed.memory.capsules import NewCapsule
from homed.memory.evidence import Pointer
from homed.memory.newfact import NewFact
from homed.memory.records import Event, EventKind, InputState, NewEvent, NewInput, Outcome
from homed.store.rows import Tx
from homed.store.scrubbing import free_places
from tests.kit.forgetting import World, in_fork, standing, world

SECRET = "My sister Ludmilla hides the spare key beneath the blue flowerpot."
ZH = "我妹妹把备用钥匙藏在蓝色花盆下面了。"
BACKUP = "backups/homed-20260101-000000"
MAKING = "backups/.making-homed-20260102-000000-0a1b2c3d"
REASON = "INSERT INTO threshold_changes (key, was, now, reason, at) VALUES ('k', '1', '2', ?, 1)"
WORDS = ("ludmilla", "flowerpot", "备用钥匙", "蓝色花盆")


@pytest.mark.parametrize("text", [SECRET, ZH])
async def test_an_event_with_all_that_was_made_of_it_stands_in_no_file(tmp_path: Path, text: str) -> None:
    picture = b"bytes of a picture of the flowerpot"
    async with world(tmp_path) as here:
        asked, answered = await here.say(text, file=picture)
        other, _ = await here.say("I water the plants on Sundays, all of them.")
        fact = await here.learn("Ludmilla has a blue flowerpot, 备用钥匙", (asked, text[:20]))
        kept = await here.learn("The user waters the plants on Sundays.", (other, "I water the plants on Sundays"))
        await here.store.write(lambda tx: tx.execute(REASON, (f"It came up: {text}",)))
        (tmp_path / "homed.log").write_text(f"one line\nWARNING it broke on {text} somehow\nthe last\n")
        proof = await here.forgetting.forget("event", asked.id)
        assert await here.value("SELECT group_concat(id) FROM records") == kept
        assert await here.value("SELECT count(*) FROM events WHERE id IN (?, ?)", asked.id, answered.id) == 1
        assert await here.value("SELECT text FROM inputs ORDER BY seq") == ""
        assert await here.value("SELECT count(*) FROM records WHERE id = ?", fact) == 0
    assert proof.clean, proof
    assert (proof.removed["events"], proof.removed["records"], proof.removed["blocks"]) == (1, 1, 1)
    assert proof.sentences > 0
    assert proof.log_lines == 1
    assert standing(tmp_path, text, *WORDS, picture.decode()) == {}
    assert (tmp_path / "homed.log").read_text().splitlines()[::2] == ["one line", "the last"]


async def title(here: World, event: Event, *given: str) -> str:
    """That of its conversation, after it is set if one is given."""
    for one in given:
        await here.store.write(lambda tx: threads.rename(tx, event.thread, one))  # noqa: B023 - awaited here
    return str(await here.value("SELECT title FROM threads WHERE id = ?", event.thread))


async def test_a_conversation_is_no_longer_called_by_what_was_said_first(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        asked, answered = await here.say(f"{SECRET}\nAnd the rest.")
        await title(here, asked, "My sister Ludmilla hides the spare key…")
        await here.forgetting.forget("event", answered.id)
        assert await title(here, asked) == "My sister Ludmilla hides the spare key…"
        assert (await here.forgetting.forget("event", asked.id)).clean
        assert await title(here, asked) == ""
        peer = "telegram:zoya_4711"
        group, _ = await here.say("It is Ludmilla with the gate code.", scope="group:telegram:7", peer=peer)
        await title(here, group, "It is Ludmilla with the gate code.")
        await here.forgetting.forget("peer", peer)
        assert await title(here, group) == ""
        pictured, _ = await here.say("Look at this, would you!", scope="guest:x", file=b"a picture")
        await title(here, pictured, "pic.png")
        await here.forgetting.forget("event", pictured.id)
        assert await title(here, pictured) == ""
        named, _ = await here.say("Is it going to rain tomorrow?", scope="guest:y")
        await title(here, named, "Weather")
        await here.forgetting.forget("event", named.id)
        assert await title(here, named) == "Weather", "a person called it so"
    assert standing(tmp_path, "Ludmilla") == {}


async def test_a_capsule_that_was_forgotten_is_not_written_again(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        asked, _ = await here.say(SECRET)
        new = NewCapsule("owner", "thread", "The spare key", "Ludmilla keeps the spare key under a flowerpot.")
        put = await here.store.write(lambda tx: capsules.put_capsule(tx, new, [Pointer(asked.id)], at=60.0))
        assert (await here.forgetting.forget("fact", put.record)).removed["records"] == 1
        again = await here.store.write(lambda tx: capsules.put_capsule(tx, new, [Pointer(asked.id)], at=70.0))
        assert (again.outcome, again.why) == ("refused", "forgotten")


async def test_what_others_say_too_is_held_against_them(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        one, _ = await here.say("My cat is called Mirabelle and she is seven years old.")
        two, _ = await here.say("The vet said my cat needs new food.")
        three, _ = await here.say("Mirabelle is what my cat is called, she sleeps all day.")
        only_one = await here.learn("The cat is seven years old.", one, two)
        both = await here.learn("The user has a cat called Mirabelle.", one, three)
        by_hand = await here.learn("Seven years, that cat!", one, origin="manual", extractor="manual")
        proof = await here.forgetting.forget("event", one.id)
        left = await here.store.read(lambda tx: {r for (r,) in tx.all("SELECT id FROM records")})
        assert left == {both, by_hand}
        assert await here.value("SELECT count(*) FROM evidence WHERE record = ?", both) == 1
        assert await here.value("SELECT max(recheck) FROM records") == 0
        assert await here.value("SELECT times FROM records WHERE id = ?", both) == 1
    assert (proof.removed["records"], proof.removed["rechecked"]) == (1, 2)
    assert only_one not in left


async def test_a_fact_goes_and_is_not_made_again_from_the_same_words_nor_from_others(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        asked, _ = await here.say(SECRET)
        fact = await here.learn("Ludmilla keeps the spare key under a flowerpot.", asked, subject="Ludmilla",
                                subject_type="person", relation="hides", object="spare key")  # fmt: skip
        preview = await here.forgetting.preview("fact", fact[-8:])
        assert (preview.target, preview.counts["records"], preview.stays) == (fact, 1, 1)
        proof = await here.forgetting.forget("fact", fact[-8:])
        assert proof.clean
        assert await here.value("SELECT count(*) FROM entities") == 0
        again = NewFact(scope="owner", text="Ludmilla keeps the spare key under a flowerpot.")
        put = await here.store.write(lambda tx: facts.put(tx, again, [Pointer(asked.id)], at=60.0))
        assert (put.outcome, put.why) == ("refused", "forgotten")
        with pytest.raises(NotFound):
            await here.forgetting.forget("fact", fact)
        assert await here.value("SELECT count(*) FROM events WHERE id = ?", asked.id) == 1
    assert "homed.db" not in str(standing(tmp_path, "Ludmilla keeps the spare key under a flowerpot."))


async def test_what_was_made_one_with_a_record_goes_with_it(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        asked, _ = await here.say("Something else was said, about nothing of it.")
        keep = await here.learn("Ludmilla has a blue flowerpot.", asked, origin="manual")
        gone = await here.learn("There is a flowerpot at Ludmilla's, a blue one.", asked, origin="manual")

        def combine(tx: Tx) -> None:
            one, two = stable.get(tx, keep), stable.get(tx, gone)
            assert one
            assert two
            mutate.combine(tx, one, two, at=60.0)

        await here.store.write(combine)
        assert set((await here.forgetting.preview("fact", keep)).records) == {keep, gone}
        proof = await here.forgetting.forget("fact", keep)
        assert (proof.clean, proof.removed["records"]) == (True, 2)
    assert standing(tmp_path, *WORDS) == {}


async def test_wide_takes_the_messages_too_and_the_whole_turn(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        asked, answered = await here.say(SECRET, f"I will remember: {SECRET}")
        fact = await here.learn("Ludmilla keeps the spare key under a flowerpot.", asked)
        first = await here.forgetting.forget("fact", fact, wide=True)
        assert not first.clean
        assert [one["ids"] for one in first.said if one["table"] == "events"] == [[answered.id]]
        second, answer = await here.say(SECRET, f"I will remember: {SECRET}")
        assert (await here.forgetting.forget("event", answer.id, wide=True)).removed["events"] == 2
        third = await here.forgetting.forget("event", answered.id)
        assert third.clean
        assert await here.value("SELECT count(*) FROM events WHERE id = ?", second.id) == 0
    assert standing(tmp_path, "Ludmilla", "flowerpot") == {}


async def test_an_entity_with_its_facts_and_with_wide_every_message_that_names_it(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        asked, _ = await here.say(SECRET)
        await here.say("Yesterday I met Ludmilla by the river.")
        stays, _ = await here.say("The river is cold in winter.")
        await here.learn("Ludmilla likes tea.", asked, subject="Ludmilla", subject_type="person", relation="likes",
                         object="tea")  # fmt: skip
        proof = await here.forgetting.forget("entity", "Ludmilla", wide=True)
        assert proof.clean
        assert await here.value("SELECT group_concat(id) FROM events WHERE kind = 'user'") == stays.id
        assert await here.value("SELECT count(*) FROM entity_names") == 0
    assert standing(tmp_path, "Ludmilla") == {}


async def test_a_peer_with_all_they_said_anywhere_and_every_row_that_names_them(tmp_path: Path) -> None:
    peer = "telegram:zoya_4711"
    async with world(tmp_path) as here:
        await here.say("I am Zoya and my flat is on Elm Street.", "Hello Zoya of Elm Street.", scope=f"guest:{peer}",
                       peer=peer)  # fmt: skip
        await here.say("In the group I said the gate code is 9921 twice.", "The gate code is 9921.",
                       scope="group:telegram:7", peer=peer)  # fmt: skip
        stays, _ = await here.say("I am somebody else here entirely.", scope="group:telegram:7", peer="telegram:other")
        mine, _ = await here.say("Something quite different of my own.")
        await here.learn("Whoever speaks likes trains a lot.", stays, observer="telegram:other", observed=peer)

        def rows(tx: Tx) -> None:
            tx.execute("INSERT INTO peers (id, plugin, name, role, created_at, seen_at, called) VALUES (?, 'telegram',"
                       " 'Zoya Elmstreet', 'guest', 1, 1, 'my Zoyenka')", (peer,))  # fmt: skip
            tx.execute("INSERT INTO rules (id, peer, decision, created_at) VALUES ('rule_1', ?, 'deny', 1)", (peer,))
            tx.execute("INSERT INTO logins VALUES ('hash', 'session', ?, 1, 9e9)", (peer,))
            tx.execute("INSERT INTO uploads (id, peer, name, media_type, bytes, hash, created_at) VALUES"
                       " ('blk_9', ?, 'zoyas-flat.png', 'image/png', 3, ?, 1)",
                       (peer, hashlib.sha256(b"abc").hexdigest()))  # fmt: skip

        await here.store.write(rows)
        preview = await here.forgetting.preview("peer", peer)
        assert {k: preview.counts[k] for k in ("threads", "inputs", "events", "rules", "uploads", "records")} == {
            "threads": 1, "inputs": 2, "events": 4, "rules": 1, "uploads": 1, "records": 1,
        }  # fmt: skip
        proof = await here.forgetting.forget("peer", peer)
        assert proof.clean, proof
        left = await here.store.read(lambda tx: {e for (e,) in tx.all("SELECT id FROM events WHERE kind = 'user'")})
        assert left == {stays.id, mine.id}
        with pytest.raises(NotFound):
            await here.forgetting.preview("peer", peer)
    assert standing(tmp_path, "Zoya", "zoya_4711", "Elm Street", "gate code is 9921", "9921", "zoyas-flat") == {}


@pytest.mark.parametrize(("text", "other"), [("blue Flowerpot", "BLUE flowerpot"), ("蓝色花盆", "蓝色花盆")])
async def test_a_text_among_other_words_of_a_reason_is_taken_out_and_stands_nowhere(
    tmp_path: Path, text: str, other: str
) -> None:
    async with world(tmp_path) as here:
        for words in (f"too many notes about the {text} came", f"again: {other}!", "less noise"):
            await here.store.write(lambda tx, words=words: tx.execute(REASON, (words,)))  # type: ignore[misc]
        proof = await here.forgetting.forget_text(text)
        rows = await here.value("SELECT group_concat(reason, '|') FROM threshold_changes")
        assert rows == "too many notes about the (forgotten) came|again: (forgotten)!|less noise"
        assert await here.value("SELECT count(*) FROM forgets") == 0, "a wish would hold the text"
        assert (proof.kind, proof.removed, proof.clean) == ("text", {"threshold_changes": 2}, True), proof
        assert proof.sentences > 0
        again = await here.forgetting.forget_text(text)
        assert (again.removed, again.clean) == ({}, True)
        await here.say(f"It is in the {text}.")
        stands = await here.forgetting.forget_text(text)
        assert not stands.clean, "what is memory is forgotten as such"
        await here.forgetting.forget("thread", str(await here.value("SELECT id FROM threads")))
    assert standing(tmp_path, text, other) == {}


async def test_a_text_is_taken_out_of_titles_and_of_what_never_became_a_message(tmp_path: Path) -> None:
    ended = Outcome(InputState.REFUSED, error="too many")
    async with world(tmp_path, searcher=in_fork(tmp_path)) as here:
        asked, _ = await here.say("The river is cold.")
        await here.store.write(lambda tx: threads.rename(tx, asked.thread, "Where the flowerpot is"))

        def refuse(tx: Tx) -> None:
            new = NewInput(asked.thread, "owner", "cli", "cli:owner", "owner", "And the Flowerpot in the cellar?")
            inputs.finish(tx, inputs.accept(tx, new, at=1.0)[0].id, ended, [], at=2.0)

        await here.store.write(refuse)
        proof = await here.forgetting.forget_text("flowerpot")
        assert (proof.removed, proof.clean) == ({"threads": 1, "inputs": 1}, True), proof
        assert await here.value("SELECT title FROM threads") == "Where the (forgotten) is"
        texts = await here.value("SELECT group_concat(text, '|') FROM inputs")
        assert texts == "The river is cold.|And the (forgotten) in the cellar?"
    assert standing(tmp_path, "flowerpot") == {}


async def test_a_call_goes_with_its_results_and_what_they_were_asked(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        asked, _ = await here.say("Look it up for me, please do.")

        def call(tx: Tx) -> list[str]:
            input_ = inputs.get(tx, str(tx.value("SELECT id FROM inputs")))
            assert input_ is not None
            calls = [{"id": n, "name": "find", "arguments": {"query": f"flowerpot number {n}"}} for n in ("a", "b")]
            new = [NewEvent(EventKind.ASSISTANT, "", {"calls": calls})]
            new += [
                NewEvent(EventKind.TOOL, f"found the flowerpot of {n}", {"call_id": n, "name": "find", "status": "ok"})
                for n in ("a", "b")
            ]
            return [table.append(tx, input_, one, at=1.5).id for one in new]

        ids = await here.store.write(call)
        preview = await here.forgetting.preview("event", ids[1])
        assert preview.counts["events"] == 3
        assert (await here.forgetting.forget("event", ids[1])).clean
        assert await here.value("SELECT count(*) FROM events") == 2
        assert await here.value("SELECT count(*) FROM events WHERE id = ?", asked.id) == 1
    assert standing(tmp_path, "flowerpot") == {}


async def test_what_is_being_answered_waits_and_an_ambiguous_end_is_told(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        asked, _ = await here.say("This turn is still running, they say.")
        await here.store.write(lambda tx: tx.execute("UPDATE inputs SET outcome = NULL, state = 'running'"))
        with pytest.raises(Conflict):
            await here.forgetting.forget("event", asked.id)
        for number in (1, 2):
            await here.store.write(
                lambda tx, n=number: tx.execute(  # type: ignore[misc]
                    "INSERT INTO entities (id, scope, name, created_at, updated_at) VALUES (?, 'owner', ?, 1, 1)",
                    (f"ent_{n}_12345678", f"Name {n}"),
                )
            )
        with pytest.raises(Conflict) as caught:
            await here.forgetting.preview("entity", "12345678")
        assert caught.value.detail["candidates"] == ["ent_1_12345678", "ent_2_12345678"]
        with pytest.raises(NotFound):
            await here.forgetting.preview("event", asked.id, scopes={"guest:x"})


async def test_copies_of_before_are_told_by_name_and_not_touched(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        asked, _ = await here.say(SECRET)
        for name in (BACKUP, MAKING, "damaged/homed-1", "replaced/homed-2"):
            (tmp_path / name).mkdir(parents=True)
            (tmp_path / name / "homed.db").write_text(SECRET)
        proof = await here.forgetting.forget("event", asked.id)
    assert proof.clean
    assert {copy.name for copy in proof.copies} == {BACKUP, MAKING, "damaged/homed-1", "replaced/homed-2"}
    assert sorted(standing(tmp_path, SECRET)[SECRET]) == sorted(f"{copy.name}/homed.db" for copy in proof.copies)


async def test_what_a_plugin_keeps_is_told(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        asked, _ = await here.say(SECRET)
        (tmp_path / "plugin-data" / "notes").mkdir(parents=True)
        (tmp_path / "plugin-data" / "notes" / "a.json").write_text(SECRET)
        proof = await here.forgetting.forget("event", asked.id)
    assert not proof.clean
    assert proof.found == {"plugin-data/notes/a.json": 1}


async def test_whoever_asked_may_go_away_and_a_stop_leaves_the_rest_to_the_next_start(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        asked, _ = await here.say(SECRET)
        with trio.move_on_after(0) as scope:
            await here.forgetting.forget("event", asked.id)
        assert scope.cancelled_caught
        assert await here.value("SELECT count(*) FROM forgets") == 0, "nothing was stored, so nothing happens"
        async with trio.open_nursery() as nursery:
            nursery.start_soon(here.forgetting.forget, "event", asked.id)
            while not await here.value("SELECT count(*) FROM forgets"):
                pass
            nursery.cancel_scope.cancel()
        await here.fulfilled()
        assert await here.value("SELECT count(*) FROM events WHERE id = ?", asked.id) == 0
    async with world(tmp_path, run=False) as here:
        second, _ = await here.say(SECRET)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(here.forgetting.forget, "event", second.id)
            with trio.fail_after(60):
                while not await here.value("SELECT count(*) FROM forgets WHERE done_at IS NULL"):
                    pass
            nursery.cancel_scope.cancel()
    async with world(tmp_path) as here:
        await here.fulfilled()
    assert standing(tmp_path, "flowerpot") == {}


async def test_a_conversation_takes_its_facts_along(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        asked, _ = await here.say(SECRET)
        await here.learn("Ludmilla keeps the spare key under a flowerpot.", asked, subject="Ludmilla",
                         relation="hides", object="spare key")  # fmt: skip
        proof = await here.forgetting.forget("thread", asked.thread)
        assert proof.clean
        assert await here.value("SELECT count(*) FROM threads") == 0
        assert await here.value("SELECT count(*) FROM records") == 0
        assert not await here.store.read(removal.hidden)
    assert standing(tmp_path, "flowerpot", "Ludmilla") == {}


def split_pages(tx: Tx) -> None:
    """Names that come in no order, so that pages are split; the last of each pair goes again at once."""
    chance = random.Random(2)
    for number in range(1500):
        name = f"Zoyenka{chance.getrandbits(64):016x}"
        tx.execute(
            "INSERT INTO entities (id, scope, name, created_at, updated_at) VALUES (?, 'owner', 'x', 1, 1)",
            (f"ent_{number}",),
        )
        tx.execute("INSERT INTO entity_names VALUES ('owner', ?, ?, ?)", (name.lower(), name, f"ent_{number}"))
        if number % 7 == 0:
            longer = "m" * chance.randint(0, 200)
            other = f"ent_{chance.randrange(number + 1)}"
            tx.execute("UPDATE entity_names SET name = name || ? WHERE entity = ?", (longer, other))


def moved(path: Path) -> str:
    """A name that stands in a free place of a page, too."""
    data = path.read_bytes()
    for start in range(0, len(data), 4096):
        page = data[start : start + 4096]
        for begin, end in free_places(page, first=start == 0):
            if found := re.search(rb"Zoyenka[0-9a-f]{16}", page[begin:end]):
                return found[0].decode()
    raise AssertionError("otherwise this shows nothing")


async def test_bytes_of_moved_rows_are_overwritten_too(tmp_path: Path) -> None:
    async with world(tmp_path, run=False) as here:
        await here.store.write(split_pages)
    name = moved(tmp_path / "homed.db")  # looked at when nobody has the file open: that would take our locks away
    async with world(tmp_path) as here:
        entity = str(await here.value("SELECT entity FROM entity_names WHERE key = ?", name.lower()))
        proof = await here.forgetting.forget("entity", entity)
        assert proof.clean, proof
        assert proof.scrubbed > 0
    assert standing(tmp_path, name) == {}
