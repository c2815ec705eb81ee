"""What the settings ask for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from homed.config.definitions import CORE, QUERY_TIMEOUT
from homed.retrieval.embed.choice import (
    DEFAULT_FOLDER,
    KEYS,
    Bundled,
    Choice,
    Endpoint,
    Folder,
    Off,
    Static,
    Tfidf,
    choose,
)
from tests.homed.retrieval.embed.kit import FixedSettings

MODELS = Path("/data/models")
FALLBACK = (Bundled(), Tfidf())


def chosen(*given: Mapping[str, object], there: bool = False) -> Choice:
    settings = FixedSettings(**{key: value for some in given for key, value in some.items()})
    return choose(settings, MODELS, lambda _: there)


def test_by_itself_it_is_the_bundled_one_and_words_where_that_is_not_there() -> None:
    assert chosen() == Choice("bundled", FALLBACK)


def test_auto_takes_what_was_set_up_the_most_particular_first() -> None:
    endpoint = {"embedding_base_url": "http://h/v1/", "embedding_model": "m"}
    folder, static = {"embedding_folder": "/m"}, {"embedding_model_path": "/a.vec, /b.vec"}
    assert chosen(static) == Choice("static", (Static((Path("/a.vec"), Path("/b.vec"))), *FALLBACK))
    assert chosen(static, there=True) == Choice("folder", (Folder(MODELS / DEFAULT_FOLDER), *FALLBACK))
    assert chosen(static, folder) == Choice("folder", (Folder(Path("/m")), *FALLBACK))
    assert chosen(static, folder, endpoint) == Choice("endpoint", (Endpoint("http://h/v1", "m", 0),))
    assert chosen({"embedding_base_url": "http://h"}).name == "bundled"


def test_an_endpoint_that_is_away_is_waited_for() -> None:
    """Falling back would make all vectors anew, and again when it is back."""
    assert chosen({"embedding": "endpoint"}).sources == (Endpoint("", "", 0),)


@pytest.mark.parametrize(
    ("wanted", "first"),
    [("bundled", Bundled()), ("folder", Folder(MODELS / DEFAULT_FOLDER)), ("tfidf", Tfidf()), ("off", Off())],
)
def test_a_word_is_a_word(wanted: str, first: object) -> None:
    found = chosen({"embedding": wanted, "embedding_base_url": "http://h/v1", "embedding_model": "m"})
    assert (found.name, found.sources[0]) == (wanted, first)


def test_a_baseline_of_ones_own() -> None:
    assert chosen({"embedding_baseline": 0.3}).baseline == 0.3
    assert chosen().baseline is None


def test_every_setting_of_embeddings_is_followed_and_no_key_is_shown() -> None:
    named = {definition.key for definition in CORE if "embedding" in definition.key}
    assert named == KEYS | {QUERY_TIMEOUT}, "how long a question waits is read at each"
    assert "s3cret" not in repr(chosen({"embedding": "endpoint", "embedding_api_key": "s3cret"}))
