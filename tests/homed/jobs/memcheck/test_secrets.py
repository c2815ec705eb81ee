"""D6: a secret that is found is taken out of the row and of all that was made of it, and stands in no file any more."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import trio

from homed.jobs.memcheck import doctor
from homed.jobs.memcheck.registry import CHECKS
from homed.jobs.memcheck.secrecy import _blanked
from homed.memory import evidence, stable
from homed.redact import Redactor
from homed.retrieval.without import words_only
from homed.store.db import Store, open_store
from homed.store.rows import Tx
from tests.homed.jobs.memcheck.ailing import build, harm, room
from tests.homed.jobs.memcheck.plants import Ids

CONFIGURED = "plumcake-and-pears"
"""A key that was set after somebody had said it: it looks like nothing, and only the redactor knows it."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Ids]:
    folder = tmp_path_factory.mktemp("sound") / "data"
    folder.mkdir()
    return folder, trio.run(build, folder)


@pytest.fixture
def folder(built: tuple[Path, Ids], tmp_path: Path) -> Path:
    return Path(shutil.copytree(built[0], tmp_path / "data"))


async def repaired(store: Store, folder: Path) -> set[str]:
    """The checks that found something, once it is mended and all is well."""
    looked = room(store, folder, redactor=Redactor([CONFIGURED]))
    found = await doctor.examine(looked, CHECKS)
    await doctor.examine(looked, CHECKS, repair=True)
    after = await doctor.examine(looked, CHECKS)
    assert after.wrong() == []
    return {one.id for one in found.wrong()}


async def test_a_key_in_what_was_said_goes_everywhere_with_it(folder: Path, built: tuple[Path, Ids]) -> None:
    """It stands in the message, a tool's arguments, its quote, a fact, its history, titles, and is indexed."""
    ids = built[1]
    async with open_store(folder / "homed.db") as store:
        await store.write(lambda tx: _say(tx, ids))
        assert await store.read(lambda tx: _found(tx, CONFIGURED)) != []
        assert await repaired(store, folder) >= {
            "secrets_messages", "secrets_records", "secrets_history", "secrets_quotes", "secrets_inputs",
            "secrets_titles",
        }  # fmt: skip
        assert await store.read(lambda tx: _found(tx, CONFIGURED)) == []
        text = await store.read(lambda tx: tx.value("SELECT text FROM events WHERE id = ?", (ids["event"],)))
        assert text == "The key is [secret:configured]. I live in Hildesheim and my cat is called Minka."
        items = await store.read(lambda tx: evidence.items(tx, ids["lives"]))
        assert [(item.excerpt, item.state) for item in items] == [("live in Hildesheim", "ok")], "found in what is left"
        moved = await store.read(lambda tx: evidence.items(tx, ids["moved"]))
        assert [(item.excerpt, item.state) for item in moved] == [("", "")], "a quote with it points at its message"
        waiting = await store.read(lambda tx: tx.all("SELECT kind FROM vector_todo ORDER BY kind"))
        assert {kind for (kind,) in waiting} == {"event", "record"}
        assert holding(folder, CONFIGURED) == [], "neither in the log, while homed runs"
    assert holding(folder, CONFIGURED) == []


def holding(folder: Path, word: str) -> list[Path]:
    return [file for file in folder.rglob("*") if file.is_file() and word.encode() in file.read_bytes()]


def _say(tx: Tx, ids: Ids) -> None:
    """As an earlier release would have stored it, which did not know the key."""
    from homed.retrieval import index

    event = ids["event"]
    seq, text = tx.all("SELECT seq, text FROM events WHERE id = ?", (event,))[0]
    longer = f"The key is {CONFIGURED}. {text}"
    index.retext(tx, seq, longer, CONFIGURED, json.dumps({"note": [CONFIGURED]}))
    shift = len(longer) - len(text)
    tx.execute("UPDATE evidence SET first = first + ?, last = last + ? WHERE event = ?", (shift, shift, event))
    tx.execute("UPDATE inputs SET text = ? WHERE seq = 1", (CONFIGURED,))
    tx.execute("UPDATE threads SET title = ?", (f"about {CONFIGURED}",))
    record = stable.get(tx, ids["dog"])
    assert record is not None
    stable.revise(tx, record, {"text": f"Use {CONFIGURED}."}, why="t", at=90.0)
    record = stable.get(tx, ids["dog"])
    assert record is not None
    stable.revise(tx, record, {"text": f"Use {CONFIGURED} now."}, why="t", at=91.0)
    tx.execute(
        "UPDATE evidence SET excerpt = ?, hash = ? WHERE record = ?",
        (CONFIGURED, evidence.digest(CONFIGURED), ids["moved"]),
    )
    index.catch_up(tx)


def _found(tx: Tx, word: str) -> list[str]:
    ranker = words_only()
    hits = ranker.search(tx, scope="owner", layer="context", query=word, limit=5)
    held = tx.all("SELECT term FROM word_terms WHERE term LIKE '%plumcake%'")
    held += tx.all("SELECT term FROM record_terms WHERE term LIKE '%plumcake%'")
    return [hit.id for hit in hits] + [term for (term,) in held]


@pytest.mark.parametrize(
    "line",
    [
        "password=hunter22secret and more",
        '{"token": "abcdef123456", "text": "hello"}',
        '{"text": "密码是 hunter22, ok", "n": 1}',
        "https://anna:geheim99@example.org/x",
        "Authorization: Bearer abcdefgh12345678ijkl",
        "sk-abcdefghij1234567890 twice sk-abcdefghij1234567890",
        "the pin was plumcake-and-pears, 日本語 plumcake-and-pears",
        "-----BEGIN PRIVATE KEY-----",
        "pwd=abc1",
        "an old [secret:key] and sk-abcdefghij1234567890",
    ],
)
def test_a_line_of_a_file_keeps_its_length_and_all_that_is_no_secret(folder: Path, line: str) -> None:
    looked = room(None, folder, redactor=Redactor([CONFIGURED]))  # type: ignore[arg-type]
    raw = f"{line}\n".encode()
    clean = _blanked(looked, raw)
    assert (len(clean), clean[-1:]) == (len(raw), b"\n")
    assert clean != raw
    text = clean.decode()
    assert looked.redactor.redact(text) == text
    for word in ("hunter22", "abcdef123456", "geheim99", "12345678", "1234567890", "plumcake", "abc1"):
        assert word not in text
    if line.startswith("{"):
        json.loads(text)
    assert _blanked(looked, clean) == clean


async def test_of_a_private_key_every_line_goes(folder: Path) -> None:
    key = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG\nanotherlineofit\n-----END PRIVATE KEY-----\n"
    log = trio.Path(folder / "homed.log.2")
    await log.write_text(f"before\n{key}after\n")
    async with open_store(folder / "homed.db") as store:
        assert await repaired(store, folder) == {"secrets_files"}
    first, mark, last = (await log.read_text()).split()
    assert (first, mark[:8], last) == ("before", "[secret:", "after")


def test_a_line_without_one_is_left_alone(folder: Path) -> None:
    looked = room(None, folder)  # type: ignore[arg-type]
    for raw in (b"nothing here\n", b"an old [secret:key]\n", b"\xff\xfe bytes\n", b"no end"):
        assert _blanked(looked, raw) is raw


async def test_a_file_that_is_written_to_meanwhile_is_mended_where_it_is(folder: Path) -> None:
    log = folder / "homed.log"
    log.write_text("a\nthe key sk-abcdefghij1234567890\n")
    writer = log.open("a")
    async with open_store(folder / "homed.db") as store:
        assert await repaired(store, folder) == {"secrets_files"}
    writer.write("b\n")
    writer.close()
    lines = log.read_text().splitlines()
    assert (lines[0], lines[2], "sk-" in lines[1]) == ("a", "b", False)


async def test_two_names_that_are_one_without_their_secret(folder: Path) -> None:
    harm(
        folder,
        "INSERT INTO entity_names SELECT 'owner', 'a', 'sk-abcdefghij1234567890', id FROM entities WHERE seq = 2",
        "INSERT INTO entity_names SELECT 'owner', 'b', 'sk-abcdefghij1234567891', id FROM entities WHERE seq = 2",
    )
    async with open_store(folder / "homed.db") as store:
        assert await repaired(store, folder) == {"secrets_aliases"}
