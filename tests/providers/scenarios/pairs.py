"""Histories that no strict server would take: each is put right before it is sent, on every path."""

from __future__ import annotations

from homed.providers.base import Assistant, Message, System, ToolCall, ToolResult, User
from homed.providers.pairing import NO_RESULT
from tests.providers.scenario import Book
from tests.providers.stage import LOOK, PLAIN, Case

BOOK = Book("Pairs")
scenario = BOOK.scenario


def _calls(*ids: str, text: str = "") -> Assistant:
    return Assistant(text, tuple(ToolCall(id_, "look", {"at": id_}) for id_ in ids))


def _result(id_: str, text: str = "") -> ToolResult:
    return ToolResult(id_, "look", text or f"seen {id_}")


async def _taken(case: Case, *messages: Message) -> list[str]:
    """Sent, taken, and the results as they reached the server: as many as calls, in their order."""
    case.fake.say("taken")
    heard = await case.good(*messages, tools=(LOOK, PLAIN))
    assert heard.text == "taken"
    assert len(case.sent.results) == len(case.sent.calls)
    return case.sent.results


@scenario("A2")
async def result_without_call(case: Case) -> None:
    """A result whose call was cooled away is left out."""
    assert await _taken(case, User("a"), _result("gone"), User("b")) == []


@scenario("A3", "A4")
async def call_without_result(case: Case) -> None:
    """A call whose result never came gets one that says so."""
    assert await _taken(case, User("a"), _calls("c1"), User("b")) == [NO_RESULT]


@scenario("A1")
async def batch_cut_in_the_middle(case: Case) -> None:
    """Of a batch of two, one result is gone: the batch stays whole."""
    assert await _taken(case, User("a"), _calls("c1", "c2"), _result("c2"), User("b")) == [NO_RESULT, "seen c2"]


@scenario("A1")
async def batch_without_its_calls(case: Case) -> None:
    """Of a batch, the message that called is gone and one result is left: it goes, too."""
    assert await _taken(case, User("a"), Assistant("well"), _result("c2"), User("b")) == []


@scenario("A4")
async def result_without_an_id(case: Case) -> None:
    """A result that lost its id finds its call."""
    messages = (User("a"), _calls("c1"), ToolResult("", "look", "seen"), User("b"))
    assert await _taken(case, *messages) == ["seen"]


@scenario("A4")
async def calls_without_ids_in_the_history(case: Case) -> None:
    """Calls that were stored without ids get some, and their results with them."""
    calls = Assistant("", (ToolCall("", "look", {"at": "a"}), ToolCall("", "now", {})))
    results = (ToolResult("", "now", "noon"), ToolResult("", "look", "seen"))
    assert await _taken(case, User("a"), calls, *results, User("b")) == ["seen", "noon"]


@scenario("A6")
async def results_out_of_order(case: Case) -> None:
    """Results in the order in which they came go in the order of the calls."""
    messages = (User("a"), _calls("c1", "c2", "c3"), _result("c3"), _result("c1"), _result("c2"), User("b"))
    assert await _taken(case, *messages) == ["seen c1", "seen c2", "seen c3"]


@scenario("A6")
async def result_after_something_else(case: Case) -> None:
    """A result that something else was put before goes right behind its call."""
    messages = (User("a"), _calls("c1"), User("are you there?"), _result("c1"), User("b"))
    assert await _taken(case, *messages) == ["seen c1"]


@scenario("A4")
async def the_same_id_twice(case: Case) -> None:
    """Two turns whose calls have the same id are two calls."""
    messages = (
        User("a"), _calls("c1"), _result("c1", "first"), Assistant("ok"),
        User("b"), _calls("c1"), _result("c1", "then"),
    )  # fmt: skip
    assert await _taken(case, *messages) == ["first", "then"]


@scenario("A6")
async def two_results_for_one_call(case: Case) -> None:
    """A second result for a call is left out."""
    assert await _taken(case, User("a"), _calls("c1"), _result("c1"), _result("c1", "again"), User("b")) == ["seen c1"]


@scenario("A1")
async def begins_with_the_assistant(case: Case) -> None:
    """What is shown of a conversation may begin with the assistant, also with its calls."""
    await _taken(case, System("Be brief."), Assistant("As I said."), User("go on"))
    assert await _taken(case, System("Be brief."), _calls("c1"), _result("c1"), User("go on")) == ["seen c1"]


@scenario()
async def the_same_role_in_a_row(case: Case) -> None:
    """Two messages of a person, or of the assistant, in a row are taken, and nothing of them is lost."""
    await _taken(case, User("one"), User("two"), Assistant("three"), Assistant("four"), User("five"))
    told = " ".join(text for _, text in case.sent.said)
    assert [word for word in ("one", "two", "three", "four", "five") if word in told] == [
        "one", "two", "three", "four", "five",
    ]  # fmt: skip


@scenario()
async def nothing_said(case: Case) -> None:
    """A message of the assistant with nothing in it is left out."""
    await _taken(case, User("a"), Assistant(""), User("b"), Assistant("  "), User("c"))
    assert [text for _, text in case.sent.said if text.strip()][-1].endswith("c")


@scenario()
async def ends_with_the_assistant(case: Case) -> None:
    """A history that ends with the assistant is taken, or ended for it."""
    await _taken(case, User("a"), Assistant("b"))


@scenario("A1", "A2", "A3")
async def never_sent_again_unchanged(case: Case) -> None:
    """After a repair the same history is repaired the same way, so that the cache of its beginning holds."""
    messages = (User("a"), _calls("c1", "c2"), _result("c2"), User("b"))
    await _taken(case, *messages)
    first = case.sent.body
    await _taken(case, *messages)
    assert case.sent.body == first
