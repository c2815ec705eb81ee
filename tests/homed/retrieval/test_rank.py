"""Words and vectors together, and what was said around a hit."""

from __future__ import annotations

import pytest

from homed.memory.ports import Space
from homed.memory.records import EventKind
from homed.retrieval import around
from homed.retrieval.asking import Question
from homed.retrieval.fuse import RRF, SUM, Fusion
from homed.retrieval.rank import PARTS, Hit, Part, Ranker
from homed.retrieval.without import words_only
from homed.store.rows import Tx
from tests.homed.retrieval.conftest import Talks
from tests.kit.dense import FakeDense, unit

GATE = 0.12
SPACE = Space("fake", 3, 0.2)


@pytest.fixture
def dense() -> FakeDense:
    return FakeDense()


def asked(text: str, *direction: float) -> Question:
    return Question(text, unit(direction), SPACE)


def found(
    tx: Tx, dense: FakeDense, query: Question, *, fusion: Fusion = SUM, without: tuple[Part, ...] = (), limit: int = 9
) -> list[Hit]:
    ranker = Ranker(lambda: None, dense, lambda: fusion, without)
    return ranker.search(tx, scope="owner", layer="context", query=query, limit=limit)


def fill(say: Talks, dense: FakeDense, *texts: tuple[str, list[float]]) -> list[int]:
    seqs = []
    for number, (text, direction) in enumerate(texts):
        seqs.append(say(text, thread=f"t{number}").seq)
        dense.put(seqs[-1], direction)
    return seqs


def test_what_only_the_vectors_see_wins_over_what_words_hardly_see(tx: Tx, say: Talks, dense: FakeDense) -> None:
    """Across languages a min-max sum found 60 % of what the encoder alone found to 95 %."""
    near, _, _ = fill(
        say,
        dense,
        ("我妹妹住在里斯本", [1, 0.2, 0]),
        ("the live show was fun", [0, 1, 0]),
        ("deep sea fish", [0, 0, 1]),
    )
    best = found(tx, dense, asked("where does my sister live these days, and with whom", 1, 0, 0))[0]
    assert best.seq == near
    assert best.score > GATE
    assert best.parts["vectors"] > 0.9
    assert best.parts["words"] == 0


def test_words_that_know_nothing_of_the_question_have_no_say(tx: Tx, say: Talks, dense: FakeDense) -> None:
    near, far = fill(say, dense, ("我妹妹住在里斯本", [1, 1, 0]), ("深海鱼", [0, 0.3, 1]))
    hits = found(tx, dense, asked("where does my sister live", 1, 0, 0))
    assert [hit.seq for hit in hits if hit.score > GATE] == [near]
    assert far not in [hit.seq for hit in hits if hit.score > GATE]


def test_an_exact_symbol_comes_first_whatever_the_vectors_say(tx: Tx, say: Talks, dense: FakeDense) -> None:
    """E24."""
    exact, near = fill(say, dense, ("the cache port is 4379", [0, 1, 0]), ("the cache is slow", [1, 0, 0]))
    for fusion in (SUM, RRF):
        assert [hit.seq for hit in found(tx, dense, asked("cache 4379", 1, 0, 0), fusion=fusion)] == [exact, near]
    assert found(tx, FakeDense(), asked("cache 4379", 1, 0, 0))[0].seq == exact


def test_by_ranks_a_weak_first_is_still_weak(tx: Tx, say: Talks, dense: FakeDense) -> None:
    fill(say, dense, ("a heron in the reeds", [0.3, 1, 0]), ("deep sea fish", [0.25, 0, 1]))
    hits = found(tx, dense, asked("quince plum almond heronry", 1, 0, 0), fusion=RRF)
    assert all(hit.score < GATE for hit in hits)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_what_has_no_vector_yet_is_judged_by_its_words(tx: Tx, say: Talks, dense: FakeDense) -> None:
    """Commit, then recall in the same second: the vector comes later."""
    fill(say, dense, ("my brother has a boat", [1, 0.4, 0]))
    new = say("my sister lives in Lisbon", thread="new").seq
    assert found(tx, dense, asked("sister Lisbon", 1, 0, 0))[0].seq == new


def test_a_file_near_to_the_question_brings_the_event_it_belongs_to(tx: Tx, say: Talks, dense: FakeDense) -> None:
    event = say("look at this", thread="a").seq
    say("deep sea fish", thread="b")
    dense.put(event, [1, 0, 0], kind="block")
    dense.put(event, [0, 1, 0])
    hits = found(tx, dense, asked("a photo of a beach", 1, 0, 0))
    assert [hit.seq for hit in hits] == [event]
    assert hits[0].score > GATE


def test_search_and_score_say_the_same(tx: Tx, say: Talks, dense: FakeDense) -> None:
    seqs = fill(say, dense, ("my sister lives in Lisbon", [1, 0.5, 0]), ("my brother has a boat", [0.5, 1, 0]))
    query = asked("where does my sister live", 1, 0, 0)
    hits = {hit.seq: hit.score for hit in found(tx, dense, query)}
    scores = Ranker(lambda: None, dense).score(tx, scope="owner", query=query, seqs=[*seqs, 999])
    assert scores == {**hits, 999: 0.0}
    other = Ranker(lambda: None, dense).score(tx, scope="group", query=query, seqs=seqs)
    assert set(other.values()) == {0.0}


def test_an_answer_is_lent_half_by_its_question_and_a_question_a_quarter_by_its_answer(tx: Tx, say: Talks) -> None:
    first = say("the heron nests in the reeds", thread="talk").seq
    second = say("Lovely", thread="talk", kind=EventKind.ASSISTANT).seq
    third = say("the egret nests on the roof", thread="talk").seq
    places = around.places(tx, "owner", [first, second, third])
    beside = around.sides(tx, [first, second, third])
    assert around.lent({first: 1.0}, beside, places) == {first: 1.0, second: 0.5, third: 0.25}
    assert around.lent({third: 1.0}, beside, places) == {third: 1.0, second: 0.25}


def test_statements_of_one_voice_lend_each_other_nothing(tx: Tx, say: Talks) -> None:
    """Separate facts in a row, or old values and new: what is near one of them is no nearer to the next."""
    first = say("Anna: the heron nests in the reeds", thread="list").seq
    second = say("Anna: the cellar is wet", thread="list").seq
    third = say("Bo: is it?", thread="list").seq
    places = around.places(tx, "owner", [first, second, third])
    beside = around.sides(tx, [first, second, third])
    assert around.lent({first: 1.0}, beside, places) == {first: 1.0}
    assert around.lent({second: 1.0}, beside, places) == {second: 1.0, third: 0.5}


def test_what_tells_comes_before_what_asks(tx: Tx, say: Talks) -> None:
    asks = say("Does my sister live in Lisbon?", thread="a").seq
    tells = say("My sister lives in Lisbon", thread="b").seq
    hits = words_only().search(tx, scope="owner", layer="context", query="sister Lisbon", limit=5)
    assert [hit.seq for hit in hits] == [tells, asks]


def test_what_somebody_says_counts_more_where_the_question_names_them(tx: Tx, say: Talks) -> None:
    hers = say("Anna: I like plums most of all", thread="a").seq
    to_her = say("Bo: I like plums too, Anna", thread="b").seq
    query = "what does Anna like, plums?"
    hits = words_only().search(tx, scope="owner", layer="context", query=query, limit=5)
    assert [hit.seq for hit in hits] == [hers, to_her]
    assert hits[0].parts["words"] > hits[1].parts["words"]


def test_the_name_of_a_peer_is_a_speakers_name(tx: Tx, say: Talks) -> None:
    tx.execute(
        "INSERT INTO peers (id, plugin, name, role, created_at, seen_at)"
        " VALUES ('cli:owner', 'cli', 'Anna', 'owner', 1, 1)"
    )
    place = around.places(tx, "owner", [say("I like plums").seq])
    assert [one.speaker for one in place.values()] == ["Anna"]


@pytest.mark.parametrize("part", PARTS)
def test_each_part_can_be_left_out(tx: Tx, say: Talks, dense: FakeDense, part: Part) -> None:
    seqs = fill(say, dense, ("Anna: the latest port is 4379?", [1, 0, 0]), ("deep sea fish", [0, 1, 0]))
    assert found(tx, dense, asked("the latest port of Anna, 4379?", 1, 0, 0), without=(part,))[0].seq == seqs[0]


async def test_without_vectors_no_question_has_one() -> None:
    question = await Ranker(lambda: None, FakeDense(), without=["vectors"]).ask("x")
    assert (question.vector, question.late) == (None, ())
