"""A zip from a stranger does no harm: every way that one has escaped, doubled or burst is refused by name."""

from __future__ import annotations

import io
import os
import stat
import struct
import warnings
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from homed.errors import InvalidInput
from homed.wire import archive
from homed.wire.archive import Archive, clashes, name_problem, read_archive, read_member, unpack_archive
from tests.homed.wire.zips import info, raw


def write(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "x.hmap"
    path.write_bytes(data)
    return path


def test_what_is_in_it_comes_out_with_plain_modes(tmp_path: Path) -> None:
    entries = [(info("a.txt", 0o100600), b"A"), (info("bin/run", 0o104777), b"#!/bin/sh\n"), (info("d/"), b"")]
    entries[2][0].external_attr = (stat.S_IFDIR | 0o777) << 16
    found = read_archive(write(tmp_path, raw(*entries)))
    assert [(m.name, m.size, m.executable) for m in found.members] == [("a.txt", 1, False), ("bin/run", 10, True)]
    old = os.umask(0o077)
    try:
        unpack_archive(found, tmp_path / "out")
    finally:
        os.umask(old)
    assert (tmp_path / "out" / "a.txt").read_bytes() == b"A"
    assert stat.S_IMODE((tmp_path / "out" / "a.txt").stat().st_mode) == 0o644
    assert stat.S_IMODE((tmp_path / "out" / "bin" / "run").stat().st_mode) == 0o755  # no setuid, no write for all


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("/etc/passwd", "no relative name"),
        ("../x", "leads out"),
        ("a/../../x", "leads out"),
        ("a/./b", "leads out"),
        ("a//b", "leads out"),
        ("..", "leads out"),
        ("a\\..\\b", "no relative name"),
        ("C:\\x", "no relative name"),
        ("a\nb", "cannot be shown"),
        ("a\x1b[2Jb", "cannot be shown"),
        ("a\u202etxt.exe", "cannot be shown"),
        ("a/b ", "blank"),
        ("a./b", "dot"),
        ("x" * 201, "too long"),
        ("/".join("d" * 40), "too long or too deep"),
    ],
)
def test_a_name_that_escapes_or_deceives_is_refused(tmp_path: Path, name: str, why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        read_archive(write(tmp_path, raw((info("ok"), b""), (info(name), b"x"))))


def test_a_name_is_not_cut_at_a_nul(tmp_path: Path) -> None:
    data = raw((info("good.txt?../../evil"), b"x")).replace(b"good.txt?", b"good.txt\0")
    with pytest.raises(InvalidInput, match=r"name|zip"):
        read_archive(write(tmp_path, data))


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFSOCK, stat.S_IFDIR])
def test_links_and_devices_are_refused(tmp_path: Path, kind: int) -> None:
    with pytest.raises(InvalidInput, match="neither a file nor a folder"):
        read_archive(write(tmp_path, raw((info("link", kind | 0o777), b"/etc/passwd"))))


@pytest.mark.parametrize(
    "names",
    [
        ["a", "a"],
        ["A", "a"],
        ["lib/x", "LIB/y"],
        ["straße", "strasse"],
        ["e\u0301", "\u00e9"],
        ["a", "a/b"],
        ["a/b", "a"],
    ],
)
def test_names_that_are_one_somewhere_are_refused(tmp_path: Path, names: list[str]) -> None:
    assert clashes(names)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        data = raw(*((info(name), b"") for name in names))
    with pytest.raises(InvalidInput, match=r"twice|same somewhere"):
        read_archive(write(tmp_path, data))


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="grows more than 200 times"):
        read_archive(write(tmp_path, raw((info("zeros"), bytes(8 << 20)))))


def test_a_small_file_may_be_as_dull_as_it_likes(tmp_path: Path) -> None:
    assert read_archive(write(tmp_path, raw((info("zeros"), bytes(1 << 20))))).members[0].size == 1 << 20


def test_more_than_may_be_unpacked_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_UNPACKED", 1000)
    with pytest.raises(InvalidInput, match="more than 1000 bytes"):
        read_archive(write(tmp_path, raw((info("a"), bytes(600)), (info("b"), bytes(600)))))


def test_more_files_than_may_be_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_FILES", 3)
    with pytest.raises(InvalidInput, match="holds 4 files"):
        read_archive(write(tmp_path, raw(*((info(str(n)), b"") for n in range(4)))))
    with pytest.raises(InvalidInput, match="too many files"):
        read_archive(write(tmp_path, raw(*((info(str(n)), b"") for n in range(8)))))


def test_a_file_that_is_too_large_is_not_even_read(tmp_path: Path) -> None:
    path = tmp_path / "x"
    with path.open("wb") as file:
        file.truncate(archive.MAX_PACKED + 1)  # sparse
    with pytest.raises(InvalidInput, match="100000001 bytes"):
        read_archive(path)


def test_entries_that_share_bytes_are_refused(tmp_path: Path) -> None:
    data = bytearray(raw((info("a"), os.urandom(100)), (info("b"), os.urandom(100))))
    second = data.rindex(b"PK\x01\x02")
    struct.pack_into("<L", data, second + 42, 0)  # the second entry's bytes are the first's
    with pytest.raises(InvalidInput, match="share their bytes"):
        read_archive(write(tmp_path, bytes(data)))


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_ways_to_pack_are_refused(tmp_path: Path, method: int) -> None:
    with pytest.raises(InvalidInput, match="not read here"):
        read_archive(write(tmp_path, raw((info("a", method=method), b"x" * 100))))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PK\x05\x06",
        b"not a zip at all" * 10,
        b"#!/bin/sh\n" + raw((info("a"), b"x")),  # something else in front of it
        raw((info("a"), b"x")) + b"\0",
        raw((info("a"), b"x"))[:-1],
        raw((info("a"), b"x"))[20:],
    ],
)
def test_what_is_no_plain_zip_is_refused(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(InvalidInput, match="zip"):
        read_archive(write(tmp_path, data))


def test_a_comment_hides_nothing(tmp_path: Path) -> None:
    out = io.BytesIO(raw((info("a"), b"x")))
    with zipfile.ZipFile(out, "a") as packed:
        packed.comment = b"PK\x05\x06" + bytes(18)
    with pytest.raises(InvalidInput, match="zip"):
        read_archive(write(tmp_path, out.getvalue()))


def test_a_list_of_names_that_is_too_long_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "_MAX_DIRECTORY", 50)
    with pytest.raises(InvalidInput, match="too many files"):
        read_archive(write(tmp_path, raw((info("a"), b""), (info("b"), b""))))


def test_no_link_is_followed_and_no_pipe_waited_for(tmp_path: Path) -> None:
    write(tmp_path, raw((info("a"), b"x")))
    (tmp_path / "link").symlink_to("x.hmap")
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "pipe", "nothing", "."):
        with pytest.raises(InvalidInput, match=r"cannot be read|no regular file"):
            read_archive(tmp_path / name)


def test_what_has_changed_since_is_not_unpacked(tmp_path: Path) -> None:
    path = write(tmp_path, raw((info("a", method=zipfile.ZIP_STORED), b"good")))
    found = read_archive(path)
    path.write_bytes(raw((info("a", method=zipfile.ZIP_STORED), b"evil")))
    with pytest.raises(InvalidInput, match="changed"):
        unpack_archive(found, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    with pytest.raises(InvalidInput, match="changed"):
        read_member(found, "a", 100)


def test_a_folder_that_is_there_is_not_unpacked_into(tmp_path: Path) -> None:
    found = read_archive(write(tmp_path, raw((info("a"), b"x"))))
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("kept")
    with pytest.raises(Exception, match="cannot be written"):
        unpack_archive(found, tmp_path / "out")
    assert (tmp_path / "out" / "mine").read_text() == "kept"


def test_a_member_is_read_up_to_a_limit(tmp_path: Path) -> None:
    found = read_archive(write(tmp_path, raw((info("a"), b"12345"))))
    assert read_member(found, "a", 5) == b"12345"
    with pytest.raises(InvalidInput, match="larger"):
        read_member(found, "a", 4)
    with pytest.raises(InvalidInput, match="holds no b"):
        read_member(found, "b", 4)


def inside(found: Archive, out: Path) -> None:
    """Everything that came out lies in the folder, is a plain file, and is no more than was said."""
    total = 0
    for folder, folders, files in os.walk(out):
        assert not any((Path(folder) / name).is_symlink() for name in folders + files)
        total += sum((Path(folder) / name).stat().st_size for name in files)
    assert total == sum(member.size for member in found.members)


def attempt(data: bytes, folder: Path) -> None:
    """Read and unpack: either it works and is harmless, or an `InvalidInput` says why not; nothing else ever."""
    path = folder / "x.hmap"
    path.write_bytes(data)
    try:
        found = read_archive(path)
    except InvalidInput:
        return
    unpack_archive(found, folder / "out")
    inside(found, folder / "out")


PART = st.sampled_from(["a", "b", "..", ".", "", "C:", "con", "ä", "A", "a\\b", "\0", "\n", "x" * 90])
NAMES = st.lists(PART, min_size=1, max_size=4).map("/".join)
MODES = st.sampled_from([0, 0o100644, 0o100755, 0o104755, 0o120777, 0o040755, 0o010644])


@settings(deadline=None, max_examples=150)
@given(st.lists(st.tuples(NAMES, MODES, st.binary(max_size=40)), max_size=5))
def test_no_names_and_modes_get_out_of_the_folder(
    tmp_path_factory: pytest.TempPathFactory, entries: list[tuple[str, int, bytes]]
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        data = raw(*((info(name, mode), body) for name, mode, body in entries))
    attempt(data, tmp_path_factory.mktemp("fuzz"))


@settings(deadline=None, max_examples=250)
@given(st.data())
def test_no_damage_to_a_zip_does_more_than_have_it_refused(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    whole = bytearray(raw((info("a/b.txt"), b"hello" * 20), (info("c", 0o100755), b"x"), (info("d/"), b"")))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(whole) - 1))
        whole[at] = data.draw(st.sampled_from([0, 1, 0x20, 0x2E, 0x2F, 0x7F, 0x80, 0xFF]))
    cut = data.draw(st.integers(0, 3))
    attempt(bytes(whole[: len(whole) - cut]), tmp_path_factory.mktemp("fuzz"))


@settings(deadline=None)
@given(st.text(max_size=60))
def test_a_name_that_may_be_is_a_plain_path_below(name: str) -> None:
    if not name_problem(name):
        base = "/base/folder"
        assert os.path.normpath(f"{base}/{name}") == f"{base}/{name}"


def test_a_zip64_end_does_not_bring_a_longer_list_than_was_looked_at(tmp_path: Path) -> None:
    """`zipfile` believes it over the plain end: a hundred megabytes of names, a gigabyte of objects."""
    body = b"PK\x03\x04" + bytes(26)
    names = [b"%x" % number for number in range(3 * archive.MAX_FILES)]
    central = b"".join(
        struct.pack("<4s4B4HL2L5H2L", b"PK\1\2", 20, 3, 20, *[0] * 8, len(name), *[0] * 6) + name for name in names
    )
    end64 = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, len(names), len(names), len(central), len(body))
    front = body + central + end64 + struct.pack("<4sLQL", b"PK\6\7", 0, len(body) + len(central), 1)
    data = front + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 1, 1, 1000, len(front) - 1000, 0)
    with zipfile.ZipFile(io.BytesIO(data)) as believed:
        assert len(believed.infolist()) == len(names)
    with pytest.raises(InvalidInput, match="Zip64"):
        read_archive(write(tmp_path, data))
