"""The side-by-side run: every peer answers every question, and one that cannot be installed is left out with a word."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from benchmarks import peers
from benchmarks.peer_plain import peak
from benchmarks.quality import Encodings, part_of
from benchmarks.sets import rows


@pytest.mark.slow
def test_ours_and_the_plain_ones_are_measured_alike() -> None:
    of = part_of(rows.read(rows.DATA / "english"), 80)
    assert of.queries
    figures = list(peers._beside("english", of, Encodings(), None))
    assert {figure.against_what.split()[0] for figure in figures} == {"FTS5", "brute"}
    assert len(figures) == 2 * 5
    assert all(figure.value > 0 and figure.against > 0 for figure in figures)
    recall = [figure for figure in figures if "R@10" in figure.name]
    assert all(50 < figure.value <= 100 and 50 < figure.against <= 100 for figure in recall)


def test_a_peer_that_cannot_be_installed_is_left_out_with_a_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(command: list[str], **_: object) -> None:
        raise subprocess.CalledProcessError(1, command)

    monkeypatch.setattr(subprocess, "run", refused)
    assert peers._mem0_python(tmp_path) is None
    assert peers.MEM0 in capsys.readouterr().out


def test_what_a_process_takes_is_its_own() -> None:
    """``ru_maxrss`` of a child begins with what its parent had."""
    hoard = bytearray(b"x" * 150_000_000)
    child = subprocess.run(
        ["python3", "-c", "print(open('/proc/self/status').read())"], capture_output=True, text=True, check=True
    )
    assert int(child.stdout.partition("VmHWM:")[2].split()[0]) // 1024 < 100 < peak()
    assert hoard
