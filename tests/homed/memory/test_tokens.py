"""The estimate stays between 0.9 x and 2 x what four real tokenizers count."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homed.memory.tokens import estimate_tokens

# Texts with the counts that cl100k_base, o200k_base, Llama 3 and Qwen 3 gave for them.
SAMPLES: list[dict[str, Any]] = json.loads(Path(__file__).with_name("token_samples.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: str(sample["name"]))
def test_estimate_is_not_below_nine_tenths_nor_above_twice_the_true_count(sample: dict[str, Any]) -> None:
    counts = sample["counts"].values()
    assert 0.9 * max(counts) <= estimate_tokens(sample["text"]) <= 2 * min(counts)


def test_samples_cover_english_chinese_code_and_json() -> None:
    assert {str(sample["name"]).split()[0] for sample in SAMPLES} == {"en", "zh", "code", "json"}


def test_nothing_costs_nothing() -> None:
    assert estimate_tokens("") == 0


@given(st.text(), st.text())
def test_more_text_never_costs_less(first: str, second: str) -> None:
    assert estimate_tokens(first + " " + second) >= max(estimate_tokens(first), estimate_tokens(second)) - 1
