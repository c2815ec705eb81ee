"""`homed usage` in words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from homed.commands import usage
from homed.commands.parser import build

KNOWN = {
    "price": "known", "currency": "USD", "cost": "0.0123", "prompt": 1000, "cached": 800, "completion": 50,
    "estimated": 0, "calls": 3,
}  # fmt: skip
UNKNOWN = {**KNOWN, "price": "unknown", "currency": "", "cost": "", "calls": 1}
FREE = {**UNKNOWN, "price": "free"}
FOUND: dict[str, Any] = {
    "day": "2026-03-08", "first": "2026-03-01", "kept": 92,
    "today": {"tokens": 2100, "money": "0.0123", "times": 1},
    "limits": {
        "turn_tokens": 5000, "day_tokens": 10_000, "day_money": "2", "currency": "USD", "background_percent": 80,
    },
    "days": [
        {"day": "2026-03-07", "kind": "turn", "source": "ds", "model": "chat", **KNOWN},
        {"day": "2026-03-08", "kind": "background", "source": "lan", "model": "llama", **UNKNOWN},
        {"day": "2026-03-08", "kind": "turn", "source": "embedded", "model": "smol", **FREE},
    ],
    "threads": [{"thread": "th_1", "title": "天气\x1b[2J", "spent": [KNOWN, UNKNOWN]}],
    "peers": [{"peer": "webui:owner", "spent": [KNOWN]}],
    "who": [{"who": "distil", "spent": [UNKNOWN]}],
    "prices": [
        {"source": "ds", "model": "chat", "price": "known", "given": True, "prompt": "0.28", "cached": "0.028",
         "completion": "0.42", "currency": "USD", "at": "2026-03-01", "for": {"source": "ds", "model": "chat"}},
        {"source": "lan", "model": "llama", "price": "unknown", "given": False},
    ],
}  # fmt: skip


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, Any]]]:
    found: list[tuple[str, dict[str, Any]]] = []

    def ask(args: object, method: str, **params: Any) -> Any:
        found.append((method, params))
        return FOUND if method == "admin.usage" else {}

    monkeypatch.setattr(usage, "ask_or_open", ask)
    return found


def run(*argv: str) -> int:
    args = build().parse_args(["usage", *argv])
    code: int = args.handler(args)
    return code


def test_it_says_where_today_stands_and_never_calls_the_unknown_nothing(
    asked: list[tuple[str, dict[str, Any]]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run() == 0
    out = capsys.readouterr().out
    assert "2100 tokens of 20000" in out, "a day that was let go on has as much again"
    assert "0.0123 of 4 USD" in out
    rows = {line.split()[0]: line for line in out.splitlines() if line.startswith("2026")}
    assert rows["2026-03-07"].endswith("0.0123 USD")
    assert rows["2026-03-08"].endswith("unknown")
    assert "Of 1050 tokens nobody knows the price" in out
    assert asked == [("admin.usage", {"days": 30})]


@pytest.mark.parametrize(
    ("by", "first", "last"),
    [
        ("source", "ds", "0.0123 USD"),
        ("kind", "turn", "0.0123 USD"),
        ("model", "smol", "free"),
        ("who", "distil", "unknown"),
        ("peer", "webui:owner", "0.0123 USD"),
        ("thread", "天气\\x1b[2J", "0.0123 USD + unknown"),
    ],
)
def test_sums_by(
    asked: list[tuple[str, dict[str, Any]]], capsys: pytest.CaptureFixture[str], by: str, first: str, last: str
) -> None:
    assert run("--by", by, "--days", "7") == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith(first)]
    assert len(rows) == 1
    assert rows[0].endswith(last)
    assert asked == [("admin.usage", {"days": 7})]


@pytest.mark.parametrize(("by", "said"), [("who", "No plugin and no job asked"), ("peer", "Nothing was asked")])
def test_an_empty_sum_says_what_of(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], by: str, said: str
) -> None:
    monkeypatch.setattr(usage, "ask_or_open", lambda *_args, **_given: FOUND | {"who": [], "peers": []})
    assert run("--by", by) == 0
    assert said in capsys.readouterr().out


def test_prices_say_whose_they_are(asked: list[tuple[str, dict[str, Any]]], capsys: pytest.CaptureFixture[str]) -> None:
    assert run("prices") == 0
    out = capsys.readouterr().out
    assert "yours" in out
    assert "2026-03-01" in out
    assert out.splitlines()[2].split()[2:5] == ["unknown"] * 3


def test_a_price_is_given_and_forgotten(asked: list[tuple[str, dict[str, Any]]]) -> None:
    assert run("price", "ds", "*", "--prompt", "1", "--completion", "2.5", "--currency", "eur") == 0
    assert run("unprice", "ds", "*") == 0
    assert asked == [
        (
            "admin.usage_price_set",
            {"source": "ds", "model": "*", "prompt": "1", "completion": "2.5", "currency": "EUR"},
        ),
        ("admin.usage_price_remove", {"source": "ds", "model": "*"}),
    ]


@pytest.mark.parametrize("argv", [("price", "ds"), ("price", "ds", "m", "--prompt", "1"), ("unprice",)])
def test_what_is_missing_is_said(
    asked: list[tuple[str, dict[str, Any]]], capsys: pytest.CaptureFixture[str], argv: tuple[str, ...]
) -> None:
    assert run(*argv) == 2
    assert "needs" in capsys.readouterr().err
    assert asked == []


def test_json_is_all_of_it(asked: list[tuple[str, dict[str, Any]]], capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--json") == 0
    assert json.loads(capsys.readouterr().out) == FOUND
