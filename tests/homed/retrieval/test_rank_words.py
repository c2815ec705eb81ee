"""What is found, in which order, and what is not."""

from __future__ import annotations

import pytest

from homed.memory.records import Event, EventKind
from homed.retrieval import lexical
from homed.retrieval.rank import Hit
from homed.retrieval.without import words_only
from homed.store.rows import Tx
from tests.homed.retrieval.conftest import Talks

GATE = 0.12
"""`injectMinScore`: what has less is not put before the model by itself."""

TALK = [
    "My sister Anna lives in Lisbon and works as a nurse",
    "The heating was repaired on Tuesday, it cost 180 euro",
    "We watched a documentary about deep sea fish",
    "Remind me to water the tomatoes while we are away",
    "The bicycle has a flat tyre again",
    "Grandma's recipe needs three eggs and a lemon",
]

CHINESE = {
    "用户服务器部署在腾讯云": ["腾讯云", "部署", "云", "服务器在哪里"],
    "清理C盘的临时文件": ["C盘", "临时文件怎么清理"],
    "重跑gen-itgc后数据正常": ["gen", "gen-itgc", "重跑"],
    "我妹妹在里斯本当护士": ["妹妹", "护士", "我妹妹住在哪里"],
    "护照号码是E12345678,明年三月到期": ["护照", "E12345678", "我的护照什么时候到期"],
    "暖气修好了,花了一百八十欧元": ["暖气", "修暖气花了多少钱"],
    "女儿对花生过敏,不能吃坚果": ["过敏", "我女儿不能吃什么", "花生"],
    "周六下午三点在人民公园和老王下棋": ["下棋", "老王", "人民公园"],
}


def found(tx: Tx, query: str, **more: object) -> list[Hit]:
    asked = {"scope": "owner", "layer": "context", "limit": 5} | more
    return words_only().search(tx, query=query, **asked)  # type: ignore[arg-type]


def fill(say: Talks, texts: list[str]) -> list[Event]:
    """Each in a conversation of its own, so that none is another's neighbour."""
    return [say(text, thread=f"t{n}") for n, text in enumerate(texts)]


@pytest.mark.parametrize(
    ("query", "at"),
    [
        ("where does my sister live?", 0),
        ("What did the heating repair cost?", 1),
        ("which documentary did we watch", 2),
        ("tomato", 3),
        ("flat tyres", 4),
        ("how many eggs are in the recipe", 5),
    ],
)
def test_a_question_finds_what_it_is_about_first_and_well_above_the_gate(
    tx: Tx, say: Talks, query: str, at: int
) -> None:
    stored = fill(say, TALK)
    best = found(tx, query)[0]
    assert best.id == stored[at].id
    assert GATE < best.score <= 1


@pytest.mark.parametrize(
    "query",
    [
        "What's the weather going to be in Oslo tomorrow?",
        "write a haiku about snow",
        "fix the segfault in my linked list",
        "帮我写一首关于雪的诗",
        "hi",
        "ok thanks!",
        "???",
        "",
        "how are you doing today my friend, can you help me with something?",
    ],
)
def test_unrelated_input_recalls_nothing(tx: Tx, say: Talks, query: str) -> None:
    fill(say, [*TALK, *CHINESE])
    assert [hit for hit in found(tx, query) if hit.score >= GATE] == []


@pytest.mark.parametrize(("text", "query"), [(text, query) for text, asked in CHINESE.items() for query in asked])
def test_b10_chinese_is_found_by_words_of_one_two_and_more_characters(
    tx: Tx, say: Talks, text: str, query: str
) -> None:
    stored = {event.text: event.id for event in fill(say, [*CHINESE, *TALK])}
    best = found(tx, query)[0]
    assert best.id == stored[text]
    assert best.score > GATE


def test_an_everyday_word_orders_as_any_other_and_brings_nothing_unasked(tx: Tx, say: Talks) -> None:
    """What is known of all texts decides what is told unasked; what comes first is what is rarer in this memory."""
    stored = fill(say, ["Grandma lives upstairs", *(f"The zoo, picture {n}" for n in range(8)), *TALK[1:]])
    best, second, *_ = found(tx, "What do pandas of the zoo live on?")
    assert best.id == stored[0].id
    assert best.score > GATE > best.relevance
    assert second.relevance > best.relevance
    weighed = {
        term.text: (term.weight, term.unasked) for term in lexical.ask(tx, scope="owner", query="zoo live").terms
    }
    (zoo,), (live,) = ([one for text, one in weighed.items() if text.endswith(word)] for word in ("zoo", "live"))
    assert zoo[0] == zoo[1] > live[1] == lexical.EVERYDAY_WEIGHT < zoo[0] < live[0]


def test_what_an_everyday_word_may_be_mistyped_for_is_found_and_brings_nothing_unasked(tx: Tx, say: Talks) -> None:
    stored = fill(say, ["The stork is back on the barn", *TALK])
    (best,) = found(tx, "store")
    assert best.id == stored[0].id
    assert best.score > GATE > best.relevance == 0


def test_one_rare_word_of_four_is_not_enough_two_are(tx: Tx, say: Talks) -> None:
    fill(say, ["heron", "heron egret", *TALK])
    scores = {
        tx.value("SELECT text FROM events WHERE id = ?", (h.id,)): h.score for h in found(tx, "heron egret x1y z2")
    }
    assert 0 < scores["heron"] < GATE < scores["heron egret"]


def test_e24_an_exact_number_ranks_first_however_much_else_is_said(tx: Tx, say: Talks) -> None:
    texts = [f"the old server that we set up in spring has a strange port, note {n}" for n in range(20)]
    stored = fill(say, [*texts, "redis: 4379", "redis: 4324"])
    query = "what was it with the old server that we set up in spring, the one with the strange port 4379"
    hits = found(tx, query)
    assert hits[0].id == stored[20].id
    assert hits[0].score > 0.4
    assert stored[21].id not in [hit.id for hit in hits[:2]]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("the box answers at 10.0.0.7:8080", "10.0.0.7"),
        ("we run 3.11.2 there", "is it version 3.11.2?"),
        ("edit /etc/nginx/nginx.conf for that", "nginx.conf"),
        ("call get_user_name first", "get_user_name"),
        ("issue #4711 is about that", "#4711"),
    ],
)
def test_exact_symbols_are_found(tx: Tx, say: Talks, text: str, query: str) -> None:
    stored = fill(say, [*TALK, text])
    assert found(tx, query)[0].id == stored[-1].id


def test_a_common_number_is_no_exact_symbol(tx: Tx, say: Talks) -> None:
    stored = fill(say, [*(f"in 2023 thing{n} happened" for n in range(20)), "the heron came in spring"])
    assert found(tx, "when did the heron come, 2023?")[0].id == stored[-1].id


def test_a_rare_word_weighs_more_than_a_common_one(tx: Tx, say: Talks) -> None:
    stored = fill(say, [*(f"garden number{n}" for n in range(20)), "heron"])
    assert found(tx, "heron garden")[0].id == stored[-1].id


def test_an_answer_is_found_by_its_question(tx: Tx, say: Talks) -> None:
    fill(say, TALK)
    question = say("Which colour did Maria choose for the kitchen?", thread="kitchen")
    answer = say("A dark green one, and brass handles", thread="kitchen", kind=EventKind.ASSISTANT)
    elsewhere = say("A dark green one", thread="elsewhere")
    hits = {hit.id: hit.score for hit in found(tx, "what colour is Maria's kitchen", limit=50)}
    assert hits[answer.id] >= hits[question.id] > GATE, "what is asked for is the answer"
    assert elsewhere.id not in hits


def test_a_neighbour_never_ranks_above_the_event_that_lifts_it(tx: Tx, say: Talks) -> None:
    for text in ("nothing", "heron", "other", "heron", "nothing"):
        say(text)
    hits = found(tx, "heron", limit=10)
    assert [tx.value("SELECT text FROM events WHERE id = ?", (hit.id,)) for hit in hits[:2]] == ["heron", "heron"]


def test_of_equals_the_newest_comes_first(tx: Tx, say: Talks) -> None:
    stored = fill(say, ["heron one", "heron two", "heron three"])
    assert [hit.seq for hit in found(tx, "heron")] == [event.seq for event in reversed(stored)]


def test_only_the_layer_that_was_asked_for(tx: Tx, say: Talks) -> None:
    stored = fill(say, [f"heron number{n}" for n in range(400)])
    cold = stored[0]
    tx.execute("UPDATE events SET layer = 'cold' WHERE id = ?", (cold.id,))
    assert [hit.id for hit in found(tx, "heron", layer="cold")] == [cold.id]
    assert cold.id not in [hit.id for hit in found(tx, "heron", limit=1000)]
    assert len(found(tx, "heron", limit=1000)) == 399


def test_b14_another_scope_has_no_part_in_it_not_even_in_the_weights(tx: Tx, say: Talks) -> None:
    fill(say, ["heron in the garden", "egret in the garden"])
    before = found(tx, "heron garden")
    for n in range(30):
        say(f"heron number{n}", scope="group:1", thread=f"g{n}")
    assert found(tx, "heron garden") == before


def test_scores_of_given_events_are_those_of_the_search(tx: Tx, say: Talks) -> None:
    stored = fill(say, TALK)
    other = say("my sister Anna in Lisbon", scope="group:1")
    scores = words_only().score(
        tx, scope="owner", query="my sister in Lisbon", seqs=[*(event.seq for event in stored), other.seq, 10_000]
    )
    searched = {hit.seq: hit.score for hit in found(tx, "my sister in Lisbon", limit=50)}
    assert {seq: value for seq, value in scores.items() if value} == pytest.approx(searched)
    assert scores[other.seq] == scores[10_000] == 0.0


def test_nothing_is_scored_where_there_is_nothing(tx: Tx) -> None:
    assert words_only().score(tx, scope="owner", query="heron", seqs=[]) == {}
    assert words_only().score(tx, scope="owner", query="heron", seqs=[1]) == {1: 0.0}
    assert found(tx, "heron") == []


def test_a_long_text_that_has_it_all_still_passes_the_gate(tx: Tx, say: Talks) -> None:
    fill(say, TALK)
    long = say("the heron stands in the reeds " + "and the wind blows over water " * 2_000, thread="long")
    best = found(tx, "heron in the reeds")[0]
    assert (best.id, best.score > GATE) == (long.id, True)


def test_a_query_as_long_as_a_book_is_looked_at_by_its_ends(tx: Tx, say: Talks) -> None:
    first, middle, last = fill(say, ["heron", "egret", "bittern"])
    query = "heron " + " ".join(f"filler{n}" for n in range(3_000)) + " egret " + "bittern"
    query = query.replace(" egret ", " ").replace("filler1500 ", "egret ")
    assert {hit.id for hit in found(tx, query)} == {first.id, last.id}
    assert middle.id not in {hit.id for hit in found(tx, query)}


def test_the_commonest_terms_do_not_hide_the_rarer_ones(tx: Tx, say: Talks) -> None:
    lines = [say(f"server log line {n}", thread=f"t{n // 50}") for n in range(1_500)]
    rare = say("server log heron", thread="rare")
    hits = found(tx, "server log heron")
    assert hits[0].id == rare.id
    assert found(tx, "server log line 77")[0].id == lines[77].id


def test_several_layers_are_searched_as_one(tx: Tx, say: Talks) -> None:
    stored = fill(say, [f"heron number{n}" for n in range(9)])
    for layer, ids in (("cold", stored[:4]), ("archived", stored[4:6])):
        for event in ids:
            tx.execute("UPDATE events SET layer = ? WHERE id = ?", (layer, event.id))
    both = found(tx, "heron", layer=("cold", "context"), limit=50)
    apart = found(tx, "heron", layer="cold", limit=50) + found(tx, "heron", layer="context", limit=50)
    assert sorted(both, key=lambda hit: hit.seq) == sorted(apart, key=lambda hit: hit.seq)
    assert len(both) == 7


def test_a_pasted_text_costs_no_more_than_a_long_question_and_finds_what_it_is_about(tx: Tx, say: Talks) -> None:
    """A11: 64 terms were looked for, where eight make a full match."""
    words = [f"word{chr(97 + a)}{chr(97 + b)}" for a in range(20) for b in range(20)]
    stored = fill(say, [*(" ".join(words[n : n + 10]) for n in range(0, 400, 10)), "port 43791"])
    query = " ".join([*words[:200], "43791", *words[200:]])
    asked = lexical.ask(tx, scope="owner", query=query)
    assert len(asked.terms) <= lexical.LOOKED_FOR + 1
    hits = found(tx, f"{' '.join(words[:30])} 43791", limit=50)
    assert hits[0].id == stored[-1].id, "exact ones are always looked for"
    assert hits[1].score > GATE


def test_a_question_asked_once_serves_search_and_score(tx: Tx, say: Talks) -> None:
    stored = fill(say, TALK)
    asked = words_only().question("my sister in Lisbon")
    hits = found(tx, "my sister in Lisbon")
    assert words_only().search(tx, scope="owner", layer="context", query=asked, limit=5) == hits
    scores = words_only().score(tx, scope="owner", query=asked, seqs=[event.seq for event in stored])
    assert {hit.seq: hit.score for hit in hits} == {seq: score for seq, score in scores.items() if score}
