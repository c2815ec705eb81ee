"""Files with a message, on a real daemon: over the terminal socket, into the model's request, and gone when deleted."""

from __future__ import annotations

import base64
import hashlib
import json
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from homed.errors import Denied, HomedError, InvalidInput, NotFound
from homed.wire.methods import IO
from tests.kit.daemon import until
from tests.kit.house import House, Plan, house
from tests.kit.openai_rules import pictures

pytestmark = pytest.mark.slow

PIECE = 512 * 1024
NOTES = "买菜清单：\n- 豆腐\n- 白菜\n<script>alert(1)</script>\n"


def png(width: int, height: int) -> bytes:
    """A real picture, of one colour."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = (b"\x00" + b"\x20\x80\xc0" * width) * height
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows, 0)) + chunk(b"IEND", b"")


CAT = png(500, 500)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    plan = Plan(probes={"guide": [IO]}, grants={"guide": [IO]}, seer=True, vectors=False)
    with house(tmp_path_factory.mktemp("attachments") / "data", plan) as built:
        yield built


def upload(home: House, data: bytes, name: str, kind: str = "") -> str:
    id_, at = "", 0
    with home.link() as link:
        while at < len(data):
            some = data[at : at + PIECE]
            params: dict[str, Any] = {"data": base64.b64encode(some).decode(), "offset": at}
            params |= {"upload": id_} if id_ else {"name": name, "media_type": kind}
            at += len(some)
            answer = link.call("io.upload", {**params, "last": at >= len(data)}, timeout=60)
            assert answer["bytes"] == at
            id_ = answer["upload"]
    return id_


def download(home: House, block: str) -> bytes:
    data = b""
    while True:
        answer = home.ask("io.block", block=block, offset=len(data))
        data += base64.b64decode(answer["data"])
        if len(data) >= answer["bytes"]:
            return data


def last_user(home: House) -> Any:
    return next(m for m in reversed(home.fake.chats[-1].body["messages"]) if m["role"] == "user")["content"]


def send(home: House, text: str, *ids: str) -> dict[str, Any]:
    done = home.ask("chat", text=text, attachments=list(ids), wait=True)
    assert done["state"] == "answered", done
    return done


def test_a_picture_and_a_text_reach_a_model_that_sees_and_one_that_does_not(home: House) -> None:
    """kernel.md §7: the strict server refuses a picture for a model that does not see; so it is described."""
    assert len(CAT) > PIECE
    ids = upload(home, CAT, "cat.png", "image/png"), upload(home, NOTES.encode(), "清单.txt", "text/html")
    done = send(home, "What is in these?", *ids)
    said = last_user(home)
    assert isinstance(said, str)
    assert f"[image cat.png, png, 500×500, {len(CAT) // 1024} KB: this model cannot see images]" in said
    assert "豆腐" in said
    blocks = home.history(done["thread"])[0]["data"]["blocks"]
    assert [(b["name"], b["media_type"]) for b in blocks] == [("cat.png", "image/png"), ("清单.txt", "text/plain")]
    assert [b["id"] for b in blocks] == list(ids)
    assert download(home, ids[0]) == CAT

    home.fake.insist(vision=True)
    home.ask("admin.models_use", name="seer")
    try:
        send(home, "And now?", upload(home, CAT, "cat.png"))
        text, picture = last_user(home)
        assert text == {"type": "text", "text": f"And now?\n\n[image cat.png, png, 500×500, {len(CAT) // 1024} KB]"}
        assert picture["type"] == "image_url"
        assert pictures(home.fake.chats[-1].body)[-1] == CAT
    finally:
        home.ask("admin.models_use", name="fake")
        home.fake.insist(vision=False)
    hashes = {path.name for path in (home.data / "media").glob("??/*")}
    assert hashlib.sha256(CAT).hexdigest() in hashes, "twice attached, once kept"


def test_bad_input_is_refused_with_a_reason_and_leaves_nothing(home: House) -> None:
    before = sorted(p.name for p in (home.data / "media").rglob("*"))
    with pytest.raises(InvalidInput, match="base64"):
        home.ask("io.upload", name="a", data="not base64!")
    with pytest.raises(InvalidInput, match="data"):
        home.ask("io.upload", name="a", data=base64.b64encode(bytes(PIECE + 3)).decode())
    with pytest.raises(InvalidInput, match="empty"):
        home.ask("io.upload", name="a", data="", last=True)
    with pytest.raises(NotFound):
        home.ask("io.upload", upload="blk_0123456789abcdef", data="YWJj")
    with pytest.raises(NotFound, match="no such upload"):
        home.ask("chat", text="hi", attachments=["../../secrets.json"])
    assert sorted(p.name for p in (home.data / "media").rglob("*")) == before


def test_a_name_with_a_path_in_it_is_just_a_name(home: House) -> None:
    id_ = upload(home, b"x", "../../../etc/pass\u202ewd\x00.txt")
    done = send(home, "see", id_)
    (block,) = home.history(done["thread"])[0]["data"]["blocks"]
    assert block["name"] == "pass wd .txt"


def test_a_guest_of_another_plugin_neither_sees_nor_takes_nor_deletes_the_owners(home: House) -> None:
    guide, guest = home.probes["guide"], "guide:stranger"
    waiting = upload(home, b"mine", "mine.txt")
    done = send(home, "see", upload(home, b"sent", "sent.txt"))
    events = home.history(done["thread"])
    sent = events[0]["data"]["blocks"][0]["id"]
    for block in (waiting, sent):
        with pytest.raises(NotFound):
            guide.call("io.block", peer=guest, block=block)
    with pytest.raises(NotFound):
        guide.call("io.inject", peer=guest, text="look", attachments=[waiting])
    with pytest.raises(NotFound):
        guide.call("io.upload", peer=guest, upload=waiting, data="YWJj")
    with pytest.raises(NotFound):
        guide.call("io.upload_cancel", peer=guest, upload=waiting)
    with pytest.raises(NotFound):
        guide.call("io.event", peer=guest, event=events[0]["id"])
    with pytest.raises(NotFound):
        guide.call("io.thread_delete", peer=guest, thread=done["thread"])
    with pytest.raises(Denied):
        guide.call("io.thread_delete", peer="cli:owner", thread=done["thread"])
    assert len(home.history(done["thread"])) == 2
    mine = guide.call("io.upload", peer=guest, name="g.txt", data="Z3Vlc3Q=", last=True)["upload"]
    with pytest.raises(NotFound):
        home.ask("io.block", block=mine)


def test_a_conversation_deleted_over_the_socket_is_in_no_file_and_its_watcher_is_told(home: House) -> None:
    word, inside = "zqwatermelonzq", b"zqinsidezq " * 50
    done = send(home, f"Remember {word}", upload(home, inside, "zqnamezq.txt"))
    assert len(where(home.data, word.encode())) > 0
    assert len(where(home.data, b"zqinsidezq")) > 0
    with home.link() as link:
        link.call("subscribe", {}, timeout=60)
        link.call("history", {"thread": done["thread"]}, timeout=60)
        assert home.ask("io.thread_delete", thread=done["thread"]) == {"events": 2, "files": 1}
        told = until(lambda: [n for n in link.receive() if "deleted" in str(n)], what="the notice")
        assert done["thread"] in str(told)
        assert word not in str(told)
    for text in (word.encode(), b"zqinsidezq", b"zqnamezq"):
        assert where(home.data, text) == []
    with pytest.raises(NotFound):
        home.ask("history", thread=done["thread"])
    with pytest.raises(NotFound):
        home.ask("io.thread_delete", thread=done["thread"])


def where(folder: Path, text: bytes) -> list[str]:
    return [file.name for file in folder.rglob("*") if file.is_file() and text in file.read_bytes()]


def test_uploads_survive_a_crash_and_half_of_one_does_not(home: House) -> None:
    whole = upload(home, b"whole", "whole.txt")
    half = home.ask("io.upload", name="half.txt", data="aGFsZg==")["upload"]
    home.daemon.kill()
    home.start()
    with pytest.raises(HomedError):
        home.ask("io.upload", upload=half, data="aGFsZg==", offset=4, last=True)
    assert list((home.data / "media" / "incoming").iterdir()) == []
    done = send(home, "after the crash", whole)
    assert download(home, home.history(done["thread"])[0]["data"]["blocks"][0]["id"]) == b"whole"


def test_a_key_made_at_the_command_line_is_known_to_the_running_daemon(home: House) -> None:
    ran = home.daemon.run("keys", "add", "script", "--scope", "memory")
    assert ran.code == 0, ran
    (listed,) = home.ask("admin.keys_list")["keys"]
    assert (listed["name"], listed["scopes"]) == ("script", ["memory"])
    assert where(home.data, ran.out.strip().encode()) == []
    assert json.loads(home.daemon.run("keys", "list", "--json").out)[0]["name"] == "script"
    assert home.daemon.run("keys", "remove", "script").code == 0
    assert home.ask("admin.keys_list") == {"keys": []}


def test_files_are_looked_into_found_by_what_is_in_them_and_shown_small_until_they_are_deleted(home: House) -> None:
    picture, words = png(900, 300), b"the zqpelican manual"
    ids = upload(home, picture, "wide.png"), upload(home, words, "manual.txt")
    done = send(home, "keep these", *ids)
    answer = home.ask("io.block", block=ids[0], small=True)
    assert (answer["small"], answer["bytes"]) == (False, len(picture)), "nobody has looked yet"
    assert home.daemon.run("memory", "jobs", "run", "see").code == 0
    until(lambda: home.ask("io.block", block=ids[0], small=True)["small"], what="a small picture")
    small = base64.b64decode(home.ask("io.block", block=ids[0], small=True)["data"])
    assert small[:4] + small[8:12] == b"RIFFWEBP"
    assert len(small) < len(picture)
    assert download(home, ids[0]) == picture, "the whole one is as it was"
    assert len(where(home.data, small)) == 1
    in_database = lambda: any(name.startswith("homed.db") for name in where(home.data, b"zqpelican manual"))  # noqa: E731
    until(in_database, what="words in the database")
    home.ask("io.thread_delete", thread=done["thread"])
    for gone in (small, picture, b"zqpelican"):
        assert where(home.data, gone) == []
