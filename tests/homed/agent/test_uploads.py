"""Files on their way in: in any pieces, within limits, each peer's its own, nothing left of what was given up."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from homed.agent import uploads as module
from homed.agent.filelimits import FileLimits
from homed.agent.uploads import PIECE, Piece, Uploads
from homed.errors import Conflict, InvalidInput, NotFound, StorageError, Unavailable
from homed.identity.roles import Identity
from homed.memory import blocks
from homed.memory.blocks import LEFTOVER, Waiting
from homed.redact import Redactor
from homed.store.db import Store, open_store
from homed.store.files import MediaFiles
from homed.store.rows import Tx
from tests.homed.identity.clocks import Wall
from tests.kit.builders import GUEST, OWNER


@dataclass
class Bench:
    uploads: Uploads
    store: Store
    files: MediaFiles
    wall: Wall
    limits: FileLimits = field(default_factory=FileLimits)

    async def upload(self, data: bytes, name: str = "a.txt", who: Identity = OWNER, kind: str = "") -> str:
        first = Piece(data=data[:PIECE], name=name, media_type=kind, last=len(data) <= PIECE)
        id_, count = await self.uploads.receive(who, first)
        while count < len(data):
            piece = Piece(upload=id_, data=data[count : count + PIECE], offset=count, last=count + PIECE >= len(data))
            id_, count = await self.uploads.receive(who, piece)
        return id_

    async def rows(self) -> list[tuple[object, ...]]:
        return await self.store.read(lambda tx: tx.all("SELECT id, name, media_type, bytes, hash FROM uploads"))

    def stored(self) -> set[str]:
        return {p.name for p in self.files.root.glob("??/*")}

    def parts(self) -> list[str]:
        return [p.name for p in (self.files.root / "incoming").iterdir()]


@asynccontextmanager
async def bench(folder: Path) -> AsyncIterator[Bench]:
    async with open_store(folder / "homed.db") as store:
        files, wall = MediaFiles(folder / "media"), Wall()
        uploads = Uploads(store, files, Redactor(), wall=wall, limits=lambda: made.limits)
        made = Bench(uploads, store, files, wall)
        await uploads.prepare()
        yield made


@pytest.fixture
async def at(tmp_path: Path) -> AsyncIterator[Bench]:
    async with bench(tmp_path) as made:
        yield made


async def test_a_file_comes_in_pieces_and_can_be_read_back_by_its_sender(at: Bench) -> None:
    data = bytes(range(256)) * 5000
    id_ = await at.upload(data, "../../My file.bin", kind="application/pdf")
    digest = hashlib.sha256(data).hexdigest()
    assert await at.rows() == [(id_, "My file.bin", "application/pdf", len(data), digest)]
    assert at.stored() == {digest}
    assert at.parts() == []
    block, some = await at.uploads.block(OWNER, id_, 1000, 50)
    assert (block.bytes, some) == (len(data), data[1000:1050])
    assert (await at.uploads.block(OWNER, id_, len(data) + 5, 50))[1] == b""
    with pytest.raises(NotFound):
        await at.uploads.block(GUEST, id_, 0, 10)


@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.binary(max_size=300), st.sampled_from(["ok", "again", "gap", "foreign"])), max_size=8),
    st.booleans(),
)
def test_any_pieces_with_any_slips_between_give_the_file_or_none(pieces: list[tuple[bytes, str]], finish: bool) -> None:
    """Order, sizes, interruption: what a client that counts does wrong is told, and changes nothing."""

    async def run() -> None:
        with TemporaryDirectory() as folder:
            async with bench(Path(folder)) as at:
                id_, count = await at.uploads.receive(OWNER, Piece(data=b"begin", name="x"))
                whole = b"begin"
                for data, how in pieces:
                    if how == "again":
                        with pytest.raises(Conflict) as caught:
                            await at.uploads.receive(OWNER, Piece(upload=id_, data=data, offset=count - 1))
                        assert caught.value.detail == {"bytes": count}
                    elif how == "gap":
                        with pytest.raises(Conflict):
                            await at.uploads.receive(OWNER, Piece(upload=id_, data=data, offset=count + 1))
                    elif how == "foreign":
                        with pytest.raises(NotFound):
                            await at.uploads.receive(GUEST, Piece(upload=id_, data=data, offset=count))
                    whole += data
                    _, count = await at.uploads.receive(OWNER, Piece(upload=id_, data=data, offset=count))
                    assert count == len(whole)
                if finish:
                    await at.uploads.receive(OWNER, Piece(upload=id_, data=b"", last=True))
                    digest = hashlib.sha256(whole).hexdigest()
                    assert at.stored() == {digest}
                    assert (await at.uploads.block(OWNER, id_, 0, PIECE))[1] == whole
                    assert at.parts() == []
                else:
                    assert at.stored() == set()
                    await at.uploads.prepare()  # as after a crash
                    assert at.parts() == []
                    assert await at.rows() == []

    trio.run(run)


@pytest.mark.parametrize(
    ("piece", "said"),
    [
        (Piece(data=b"x" * (PIECE + 1), name="a"), "piece is too large"),
        (Piece(data=b"", name="a", last=True), "empty"),
    ],
)
async def test_what_cannot_be_taken(at: Bench, piece: Piece, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        await at.uploads.receive(OWNER, piece)
    assert at.parts() == []
    assert at.stored() == set()


async def test_a_file_that_grows_too_large_is_given_up(at: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    at.limits = FileLimits(bytes=10)
    id_, _ = await at.uploads.receive(OWNER, Piece(data=b"x" * 10, name="a"))
    with pytest.raises(InvalidInput, match="10 bytes is the limit"):
        await at.uploads.receive(OWNER, Piece(upload=id_, data=b"x"))
    assert at.parts() == []
    with pytest.raises(NotFound):
        await at.uploads.receive(OWNER, Piece(upload=id_, data=b"", last=True))


@pytest.mark.parametrize("id_", ["blk_0000000000000000", "../x", "up"])
async def test_an_upload_that_is_none(at: Bench, id_: str) -> None:
    with pytest.raises(NotFound, match="no such upload"):
        await at.uploads.receive(OWNER, Piece(upload=id_, data=b"x"))
    with pytest.raises(NotFound):
        await at.uploads.cancel(OWNER, id_)


async def test_how_many_at_once_is_bounded_for_each_peer_and_for_all(
    at: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    at.limits = FileLimits(open=2)
    monkeypatch.setattr(module, "ALL_OPEN", 3)
    for who in (OWNER, OWNER, GUEST):
        await at.uploads.receive(who, Piece(data=b"x", name="a"))
    for who in (OWNER, GUEST):
        with pytest.raises(Unavailable, match="at once"):
            await at.uploads.receive(who, Piece(data=b"x", name="a"))


async def test_what_waits_is_bounded_in_bytes_and_a_file_taken_off_makes_room(
    at: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    at.limits = FileLimits(waiting=Waiting(bytes=10))
    first = await at.upload(b"x" * 6)
    with pytest.raises(Unavailable, match="Too many files"):
        await at.upload(b"y" * 6)
    assert len(at.stored()) == 1, "nothing is left of what was refused"
    assert at.parts() == []
    await at.uploads.cancel(OWNER, first)
    assert at.stored() == set()
    await at.upload(b"y" * 6)
    with pytest.raises(NotFound):
        await at.uploads.cancel(OWNER, first)


async def test_an_upload_in_the_middle_can_be_taken_off(at: Bench) -> None:
    id_, _ = await at.uploads.receive(OWNER, Piece(data=b"x", name="a"))
    with pytest.raises(NotFound):
        await at.uploads.cancel(GUEST, id_)
    await at.uploads.cancel(OWNER, id_)
    assert at.parts() == []


async def test_what_stands_still_makes_room_for_others(
    at: Bench, monkeypatch: pytest.MonkeyPatch, autojump_clock: trio.testing.MockClock
) -> None:
    monkeypatch.setattr(module, "ALL_OPEN", 1)
    id_, _ = await at.uploads.receive(GUEST, Piece(data=b"x", name="a"))
    await trio.sleep(FileLimits().idle + 1)
    await at.uploads.receive(OWNER, Piece(data=b"x", name="a"))
    with pytest.raises(NotFound):
        await at.uploads.receive(GUEST, Piece(upload=id_, data=b"x"))


async def test_leftovers_go_at_a_start_and_when_their_peer_comes_again(at: Bench) -> None:
    await at.upload(b"old")
    at.wall.now += LEFTOVER + 1
    await at.upload(b"new")
    assert {row[1:4] for row in await at.rows()} == {("a.txt", "text/plain", 3)}
    assert at.stored() == {hashlib.sha256(b"new").hexdigest()}
    at.wall.now += LEFTOVER + 1
    await at.uploads.prepare()
    assert at.stored() == set()


async def test_the_same_bytes_twice_are_one_file_and_taking_one_off_keeps_it(at: Bench) -> None:
    one, two = await at.upload(b"same"), await at.upload(b"same")
    assert one != two
    assert len(at.stored()) == 1
    await at.uploads.cancel(OWNER, one)
    assert (await at.uploads.block(OWNER, two, 0, 10))[1] == b"same"
    await at.uploads.cancel(OWNER, two)
    assert at.stored() == set()


async def test_a_secret_in_a_file_name_is_taken_out(at: Bench) -> None:
    await at.upload(b"x", "ghp_" + "a1B2c3D4" * 5 + ".txt")
    assert "a1B2" not in str(await at.rows())


async def test_a_client_that_went_away_before_its_piece_was_taken_can_send_it_again(at: Bench) -> None:
    id_, _ = await at.uploads.receive(OWNER, Piece(data=b"one", name="a"))
    with trio.CancelScope() as scope:
        scope.cancel()
        await at.uploads.receive(OWNER, Piece(upload=id_, data=b"two", offset=3))
    _, count = await at.uploads.receive(OWNER, Piece(upload=id_, data=b"two", offset=3, last=True))
    assert count == 6
    assert (await at.uploads.block(OWNER, id_, 0, 10))[1] == b"onetwo"


async def test_a_cancelled_end_is_whole_or_not_there(at: Bench) -> None:
    """The file is put in its place and named under a shield: no later upload finds it half done."""
    id_, _ = await at.uploads.receive(OWNER, Piece(data=b"data", name="a"))
    keep = at.files.keep

    async with trio.open_nursery() as nursery:

        async def cancelling(part: str, hash_: str) -> None:
            nursery.cancel_scope.cancel()
            await keep(part, hash_)

        at.files.keep = cancelling  # type: ignore[method-assign]
        nursery.start_soon(at.uploads.receive, OWNER, Piece(upload=id_, data=b"", last=True))
    assert (await at.uploads.block(OWNER, id_, 0, 10))[1] == b"data"


async def test_a_full_disk_ends_the_upload_and_leaves_nothing(at: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    id_, _ = await at.uploads.receive(OWNER, Piece(data=b"data", name="a"))

    async def full(*_: object) -> None:
        await trio.lowlevel.checkpoint()
        raise StorageError("There is no space left for attachments.")

    monkeypatch.setattr(at.files, "write_part", full)
    with pytest.raises(StorageError, match="no space"):
        await at.uploads.receive(OWNER, Piece(upload=id_, data=b"more"))
    assert at.parts() == []
    with pytest.raises(NotFound):
        await at.uploads.receive(OWNER, Piece(upload=id_, data=b"more"))


async def test_a_file_is_not_removed_while_it_is_about_to_be_named(at: Bench) -> None:
    """Loose files are collected beside an upload of the same bytes."""
    first = await at.upload(b"same")
    placed, go_on = trio.Event(), trio.Event()
    keep = at.files.keep

    async def slowly(part: str, hash_: str) -> None:
        await keep(part, hash_)
        placed.set()
        await go_on.wait()

    at.files.keep = slowly  # type: ignore[method-assign]
    remove, removed = at.files.remove, trio.Event()

    async def removing(hashes: Iterable[str]) -> int:
        count = await remove(hashes)
        removed.set()
        return count

    at.files.remove = removing  # type: ignore[method-assign]
    gate = at.uploads._files_gate
    second: list[str] = []

    async def upload() -> None:
        second.append(await at.upload(b"same"))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(upload)
        await placed.wait()
        nursery.start_soon(at.uploads.cancel, OWNER, first)
        with trio.fail_after(60):
            while True:  # until it waits, or has done the damage
                if gate.statistics().tasks_waiting or removed.is_set():
                    break
                await trio.lowlevel.checkpoint()
        go_on.set()
    assert (await at.uploads.block(OWNER, second[0], 0, 10))[1] == b"same"


async def test_a_start_on_a_database_that_takes_no_writes_goes_on(at: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(_: Callable[[Tx], object]) -> None:
        await trio.lowlevel.checkpoint()
        raise StorageError("It is damaged.")

    monkeypatch.setattr(at.store, "write", refuse)
    await at.uploads.prepare()


async def test_a_caption_is_kept_with_the_upload_without_secrets_and_not_endlessly(at: Bench) -> None:
    secret = "AKIAIOSFODNN7EXAMPLE"
    piece = Piece(data=b"x", name="a.png", caption=f"a heron, key {secret} {'x' * blocks.CAPTION}", last=True)
    await at.uploads.receive(OWNER, piece)
    ((caption,),) = await at.store.read(lambda tx: tx.all("SELECT caption FROM uploads"))
    assert caption.startswith("a heron")
    assert secret not in caption
    assert len(caption) == blocks.CAPTION


async def test_a_small_picture_is_kept_only_for_a_file_that_somebody_names(at: Bench) -> None:
    id_ = await at.upload(b"picture", "a.png")
    digest = hashlib.sha256(b"picture").hexdigest()
    assert await at.uploads.keep_small(digest, b"small")
    assert (await at.uploads.small(OWNER, id_))[1] == b"small"
    with pytest.raises(NotFound):
        await at.uploads.small(GUEST, id_)
    await at.uploads.cancel(OWNER, id_)
    assert not await at.uploads.keep_small(digest, b"small")
    assert [path for path in at.files.root.rglob("*") if path.is_file()] == []
