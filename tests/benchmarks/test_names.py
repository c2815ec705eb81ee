"""Names in the committed Chinese set: what is known of words takes none of them away."""

from __future__ import annotations

import tomllib
from pathlib import Path

from benchmarks.sets import chinese, rows
from homed.memory.normal import normal
from homed.retrieval import met
from homed.retrieval.keywords import Keywords

LEAST = 3_000


async def test_every_name_of_the_set_is_still_found_where_words_are_known() -> None:
    pools = tomllib.loads(Path(chinese.__file__).with_suffix(".toml").read_text())["pools"]
    known = {normal(name) for pool in pools.values() for name in pool}
    of = rows.read(rows.DATA / "chinese")
    words, nothing = Keywords(), Keywords()
    words.meet("中文")
    await words.keep()
    count, last = 0, 0
    for text in [*(event.text for event in of.events), *(query.text for query in of.queries)]:
        parts = met._words(text)
        by_pieces, by_words = met._fitting(parts, nothing), met._fitting(parts, words)
        named = known & by_pieces.keys()
        assert named <= by_words.keys(), text
        count += len(named)
        last += sum(by_words[name] == 1 for name in named)
    assert count >= LEAST
    assert last <= 0.02 * count, "and hardly one comes behind others"
