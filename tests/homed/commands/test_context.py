"""`homed context explain`: the record of a turn, in words."""

from __future__ import annotations

from typing import Any

from homed.commands.context import account

EVENT = {
    "kind": "user", "peer": "webui:owner", "thread": "th_1", "title": "Bees", "created_at": 1_750_000_000.0,
    "layer": "cold", "untrusted": False, "excerpt": "I keep bees.",
}  # fmt: skip

ANSWER: dict[str, Any] = {
    "turn": "turn_1", "thread": "th_2", "at": 1_750_000_000.0,
    "entries": [
        {"kind": "select", "at": 1.0, "data": {
            "window": 32768, "fixed": 900, "context": 16000, "memory": 8000, "top": 29, "protected": 10, "of": 40,
            "kept": {"recent": ["ev_1"], "score": ["ev_2"]}, "scores": {"ev_2": 0.4321}, "left_out": ["ev_3"],
            "more": 37,
        }},
        {"kind": "recall", "at": 1.0, "data": {
            "hits": [{"id": "ev_4", "score": 0.9, "told": True}], "cold": ["ev_4"], "shown": ["ev_2"], "chars": 321,
            "kept": 2, "late": ["notes"], "below": 2, "gate": 0.12,
        }},
        {"kind": "peek", "at": 1.0, "data": {"events": [{"id": "ev_5", "score": 0.5, "layer": "cold"}], "in_view": []}},
        {"kind": "guard", "at": 1.0, "data": {
            "why": "gathered", "recovery": 1, "room": 99, "sunk": ["ev_6"], "left_out": [], "dropped": ["ev_7"],
            "before": {"events": 9, "tokens": 70000}, "after": {"events": 4, "tokens": 20000},
        }},
        {"kind": "confirm", "at": 1.0, "data": {"back": ["ev_5"]}},
        {"kind": "sink", "at": 1.0, "data": {
            "events": [f"ev_{n}" for n in range(20)], "scores": {}, "before": {"events": 61, "tokens": 9},
            "after": {"events": 41, "tokens": 8},
        }},
    ],
    "events": {"ev_1": EVENT | {"layer": "context", "excerpt": "hi\x1b[2J"}, "ev_4": EVENT | {"untrusted": True}},
}  # fmt: skip


def test_every_kind_of_record_is_told_in_words() -> None:
    text = "\n".join(account(ANSWER))
    for words in (
        "Turn turn_1 of 2025-06-15", "Shown: 2 of 40 events", "room for 29 events and 16000 tokens",
        "newest of this conversation:", "closest of the others, then the newest:", "0.43  ev_2",
        "the most relevant of 38",
        "Told in notes (321 characters): 1 of what was said, 0 of what is known.",
        "from other conversations and about the message: 1", "below 0.12): 2",
        "Too late, or failed: notes",
        "found 1; 0 it saw already", "outgrown the model's window: 9 events, 70000 tokens before, 4 events",
        "of this turn, not shown any more", "1 events went to cold memory", "Back in the window, since the answer used",
        "20 events sank", "… and 8 more", "“Bees”: I keep bees.", "user ⚠, cold", "ev_2  (not there any more)",
    ):  # fmt: skip
        assert words in text, words
    assert "\x1b" not in text


def test_what_is_known_is_told_with_its_words_and_without_a_conversation() -> None:
    fact = EVENT | {"kind": "fact", "layer": "stable", "title": "", "thread": "", "excerpt": "Ida plays the cello."}
    told = {"cold": [], "facts": ["fact_1"], "known": {"scores": {"fact_1": 0.4}}, "chars": 80}
    lines = account(ANSWER | {"entries": [{"kind": "recall", "at": 1.0, "data": told}], "events": {"fact_1": fact}})
    assert "Told in notes (80 characters): 0 of what was said, 1 of what is known." in lines
    assert [line for line in lines if line.endswith("fact, stable: Ida plays the cello.")]
    nothing = account(ANSWER | {"entries": [{"kind": "recall", "at": 1.0, "data": {"chars": 0}}]})
    assert "Told in notes: 0 of what was said, 0 of what is known." in nothing


def test_a_turn_without_a_record_says_so() -> None:
    assert "There is no record" in account({"turn": "t", "thread": "h", "at": 0, "entries": [], "events": {}})[-1]


def test_what_was_told_is_listed_by_band_with_scores_marks_and_what_had_no_room() -> None:
    line = {
        "id": "fact_1", "record": "fact", "revision": 2, "band": "immediate", "why": "hit", "score": 0.81,
        "relevance": 0.62, "evidence": "source", "chars": 70, "shortened": True,
    }  # fmt: skip
    gone = line | {"id": "capsule_2", "record": "capsule", "band": "background", "why": "active", "evidence": ""}
    said = line | {"id": "ev_4", "record": "event", "band": "working", "why": "cold", "evidence": "", "revision": 0}
    told = {
        "at": 1.0, "mode": "hit", "counts": {"fact": 1, "capsule": 1, "event": 1}, "chars": 512, "ms": 12.3,
        "late": [], "below": 3, "cut": 2, "channels": {"words": 1, "vectors": 1}, "lines": [line, said, gone],
    }  # fmt: skip
    fact = EVENT | {"kind": "fact", "layer": "stable", "title": "", "thread": "", "excerpt": "Ida plays the cello."}
    recall = {"gate": 0.12, "known": {"below": 3, "sunk": {"fact_9": 0.07}}}
    answer = ANSWER | {
        "entries": [{"kind": "recall", "at": 1.0, "data": recall}], "injections": [told],
        "events": ANSWER["events"] | {"fact_1": fact},
    }  # fmt: skip
    text = "\n".join(account(answer))
    for words in (
        "Told before the message (found by the message): fact × 1, capsule × 1, event × 1; 512 characters, found in",
        "12 ms.", "  IMMEDIATE:\n    0.81  fact_1", "fact, stable: Ida plays the cello.",
        "the message is about it, source, revision 2, relevance 0.62, shortened", "  WORKING:\n    0.81  ev_4",
        "said, and out of view, relevance", "  BACKGROUND:\n    0.81  capsule_2  (not there any more)",
        "of the Active Window, no evidence", "No room for: 2.", "Found by: words 1, vectors 1.",
        "of what is known, the closest of 3:\n    0.07  fact_9",
    ):  # fmt: skip
        assert words in text, words
