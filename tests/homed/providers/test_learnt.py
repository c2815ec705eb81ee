"""The window in a refusal, and how long it is remembered."""

from __future__ import annotations

from dataclasses import replace

import pytest

from homed.providers.base import Source
from homed.providers.learnt import KEPT, named, window_of, with_window

SOURCE = Source("s", "http://x/v1", "m", context_window=100_000)


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.", 8192),
        ("prompt is too long: 210000 tokens > 200000 maximum", 200_000),
        ("input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease", 200_000),
        ("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", 1_048_576),
        ('{"error":{"type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":4096}}', 4096),
        ("Prompt contains 40000 tokens, too large for model with 32768 maximum context length", 32_768),
        ("Request body too large for gpt-4.1 model. Max size: 8000 tokens.", 8000),
        ("tokens per minute (TPM): Limit 6000, Requested 7012", 6000),
        ("exceeds the context window of 131,072 tokens", 131_072),
        ("the request exceeds the available context size (2048 tokens)", 2048),
        ("it is too long", 0),
        ("maximum context length is 12 tokens", 0),
        ("maximum context length is 999999999999 tokens", 0),
    ],
)
def test_finds_the_number_that_is_the_window(text: str, window: int) -> None:
    assert named(text) == window


def test_is_remembered_for_the_source_as_it_is_set_up() -> None:
    stored = with_window([], SOURCE, 8192)
    assert window_of(stored, SOURCE) == 8192
    for other in ({"name": "t"}, {"model": "n"}, {"base_url": "http://y/v1"}, {"context_window": 90_000}):
        assert window_of(stored, replace(SOURCE, **other)) == 0
    assert window_of(with_window(stored, SOURCE, 4096), SOURCE) == 4096


@pytest.mark.parametrize(
    "stored", [None, "x", [None], [{"source": "s"}], [{**with_window([], SOURCE, 1)[0], "window": "many"}]]
)
def test_what_is_stored_in_another_shape_means_nothing(stored: object) -> None:
    assert window_of(stored, SOURCE) == 0
    assert window_of(with_window(stored, SOURCE, 8192), SOURCE) == 8192


def test_so_many_sources_are_remembered() -> None:
    stored: object = []
    for number in range(KEPT + 5):
        stored = with_window(stored, replace(SOURCE, name=f"s{number}"), 8192)
    assert isinstance(stored, list)
    assert len(stored) == KEPT
    assert window_of(stored, replace(SOURCE, name="s0")) == 0
