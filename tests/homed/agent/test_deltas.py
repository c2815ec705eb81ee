"""What is shown while an answer streams: all of it, in few notices, and never a secret, however it was cut."""

from __future__ import annotations

import time

import pytest
import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st

from homed.agent.deltas import BEAT, BUFFER, Coalescer, StreamRedactor
from homed.redact import Redactor, redact

KEY = "sk-" + "a1b2c3d4" * 4


def stream(pieces: list[str]) -> list[str]:
    cleaner = StreamRedactor(redact)
    return [*(cleaner.feed(piece) for piece in pieces), cleaner.finish()]


@given(st.lists(st.text(alphabet="ab 你好。\n-:./[]", max_size=8), max_size=20))
def test_harmless_text_comes_out_as_it_went_in(pieces: list[str]) -> None:
    assert "".join(stream(pieces)) == "".join(pieces)


@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=80),
    st.sampled_from([f"key {KEY} end", f"x\npassword: {KEY}\n"]),
)
def test_a_secret_in_pieces_is_never_shown(cuts: list[int], text: str) -> None:
    """D6: for every way of cutting it."""
    pieces, at = [], 0
    for cut in cuts:
        pieces.append(text[at : at + cut])
        at += cut
    shown = "".join(stream([*pieces, text[at:]]))
    assert KEY not in shown
    assert KEY[8:20] not in shown


KNOWN = Redactor(["correct horse battery 77", "Xy7(kk)9,abc;z", "密钥abc密钥99xx", "multi\nline-secret-99"])
PLANTED = [
    (f"k {KEY} e", "a1b2c3d4a1"), ('x = {"password": "tall giraffe zebra 9"} y', "giraffe"),
    ("see https://bob:pa(ss)wo,rd99@host/x y", "ss)wo"), ("Cookie: sid=abcdef(12)345678; x=1 end", "abcdef(1"),
    ("password is hun(ter)22,2; ok", "hun("), ("密码是 hunter2222。好", "hunter22"),
    ("w correct horse battery 77 y", "horse"),
    ("w correct horse correct horse battery 77 y", "battery"), ("w Xy7(kk)9,abc;z y", "Xy7("),
    ("w 密钥abc密钥99xx y", "密钥abc"), ("w multi\nline-secret-99 y", "line-secret"),
]  # fmt: skip


@given(
    planted=st.sampled_from(PLANTED),
    before=st.sampled_from(["", "好" * 8190 + " ", "好" * 8180 + " ", "word " * 40, 'key="', "correct "]),
    steps=st.lists(st.tuples(st.integers(1, 9), st.sampled_from(["feed", "flush"])), min_size=1, max_size=40),
)
def test_no_planted_secret_is_shown_whatever_the_pieces_and_the_beats(
    planted: tuple[str, str], before: str, steps: list[tuple[int, str]]
) -> None:
    """D6: and all else is shown, once, and in its place."""
    text, part = planted
    whole, at, shown = before + text, max(0, len(before) - 9), ""

    def show(place: int, piece: str) -> None:
        nonlocal shown
        assert place == len(shown)
        shown += piece

    async def stream_it() -> None:
        coalescer = Coalescer(KNOWN.redact, show, KNOWN.begun)
        begin = at
        coalescer.feed(whole[:begin])
        for size, how in steps:
            coalescer.feed(whole[begin : begin + size])
            begin += size
            if how == "flush":
                coalescer.flush()
        coalescer.feed(whole[begin:])
        coalescer.finish()

    trio.run(stream_it)
    assert part not in shown
    assert shown == KNOWN.redact(whole)


def test_a_long_line_of_beginnings_of_a_secret_costs_no_more_at_its_end() -> None:
    cleaner = StreamRedactor(KNOWN.redact, KNOWN.begun)
    begun = time.process_time()
    shown = "".join(cleaner.feed("correct horse " * 20) for _ in range(200)) + cleaner.finish()
    assert shown == "correct horse " * 4000
    assert time.process_time() - begun < 5


@pytest.mark.parametrize("kind", ["RSA PRIVATE KEY", "PRIVATE KEY", "PGP PRIVATE KEY BLOCK"])
def test_a_private_key_block_is_held_until_it_ends(kind: str) -> None:
    cleaner = StreamRedactor(redact)
    text = f"Here: \n-----BEGIN {kind}-----\nMIIEsecret\nmore\nlast\n-----END {kind}-----\nbye"
    shown = "".join(map(cleaner.feed, text.splitlines(keepends=True)))
    shown += cleaner.finish()
    assert "MIIE" not in shown
    assert "more" not in shown
    assert shown.startswith("Here: \n")
    assert shown.endswith("\nbye")


def test_chinese_goes_out_at_once_and_a_word_with_its_space() -> None:
    cleaner = StreamRedactor(redact)
    assert cleaner.feed("你好") == "你好"
    assert cleaner.feed(" hel") == " "
    assert cleaner.feed("lo ") == "hello "


def test_a_very_long_line_is_not_held_for_ever() -> None:
    cleaner = StreamRedactor(redact)
    shown = "".join(cleaner.feed("word " * 100) for _ in range(100))
    assert len(shown) > 45_000
    assert len(cleaner._line) < 20_000


def test_a_long_text_without_a_break_costs_no_more_at_its_end() -> None:
    """Searched from the left, 10 000 characters of base64 took a second a piece, and all of homed with them."""
    cleaner = StreamRedactor(str)
    begun = time.process_time()
    for _ in range(1300):
        cleaner.feed("aB3dE5gH")
    assert time.process_time() - begun < 5


async def test_many_small_pieces_become_a_notice_a_beat(autojump_clock: trio.testing.MockClock) -> None:
    shown: list[tuple[int, str]] = []
    coalescer = Coalescer(redact, lambda at, text: shown.append((at, text)))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(coalescer.beat)
        for _ in range(1000):
            coalescer.feed("ab ")
            await trio.sleep(0.001)
        nursery.cancel_scope.cancel()
    coalescer.finish()
    assert "".join(text for _, text in shown) == "ab " * 1000
    assert len(shown) <= 1.0 / BEAT + 3
    at = 0
    for offset, text in shown:
        assert offset == at
        at += len(text)


async def test_the_first_piece_goes_out_at_once_and_the_last_within_a_beat(
    autojump_clock: trio.testing.MockClock,
) -> None:
    shown: list[tuple[float, str]] = []
    coalescer = Coalescer(redact, lambda at, text: shown.append((trio.current_time(), text)))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(coalescer.beat)
        began = trio.current_time()
        coalescer.feed("one ")
        coalescer.feed("two ")
        await trio.sleep(1)
        nursery.cancel_scope.cancel()
    assert [text for _, text in shown] == ["one ", "two "]
    assert shown[0][0] == began
    assert shown[1][0] - began <= BEAT * 1.01


async def test_a_flood_does_not_wait_for_the_beat() -> None:
    shown: list[int] = []
    coalescer = Coalescer(redact, lambda at, text: shown.append(len(text)))
    coalescer.feed("a ")
    coalescer.feed("b " * 5000)
    assert sum(shown) == 10_002


@pytest.mark.parametrize(
    ("begin", "piece"), [("", "你好世界吗"), ("", "aB3dE5gH"), ("-----BEGIN PRIVATE KEY-----\n", "word ")]
)
async def test_a_long_line_is_looked_through_once_a_beat_and_not_for_each_of_its_pieces(
    autojump_clock: trio.testing.MockClock, begin: str, piece: str
) -> None:
    """Each look costs a millisecond or two: one answer of 50 000 characters took 20 seconds of all of homed."""
    looks = 0
    shown: list[str] = []

    def counted(text: str) -> str:
        nonlocal looks
        looks += 1
        return redact(text)

    coalescer = Coalescer(counted, lambda _, text: shown.append(text))
    coalescer.feed(begin)
    for _ in range(4000):
        coalescer.feed(piece)
        await trio.sleep(0.001)
    coalescer.finish()
    assert "".join(shown) == redact(begin + piece * 4000)
    assert looks <= 2 * 4.0 / BEAT + 2 * BUFFER / len(piece), "the first words may be any piece's"
