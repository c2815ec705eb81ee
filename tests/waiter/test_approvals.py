"""What a person is asked, and what counts as an answer."""

from __future__ import annotations

import pytest

from waiter.approvals import answer_of, prompt, question
from waiter.commands import COMMANDS
from waiter.progress import Ask, approval
from waiter.words import Words

WORDS = Words()
ASK = Ask("ap", "t", "p", "read", {}, "")


def test_the_arguments_come_first_so_that_the_question_stays_in_sight() -> None:
    asked = question(Ask("ap", "cmd_run", "shell", "dangerous", {"command": "x\n" * 5_000}, "it is dangerous"), WORDS)
    args, _, last = asked.rpartition("\n")
    assert last == "May cmd_run of the plugin shell run? It is of the class dangerous. (it is dangerous)"
    assert args.count("\n") == 2


def test_people_have_conversations_and_not_threads() -> None:
    """In words; the command /threads and the option --thread keep their names."""
    assert "in this conversation" in prompt(ASK, WORDS)
    said = [prompt(ASK, WORDS), question(ASK, WORDS), *(WORDS(f"talk.help.{name}") for name in COMMANDS)]
    assert not any("thread" in text for text in said)


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("y", ("allow", "once")), (" YES ", ("allow", "once")), ("好", ("allow", "once")), ("t", ("allow", "thread")),
        ("conversation", ("allow", "thread")),
        ("n", ("deny", "once")), ("", ("deny", "once")), ("否", ("deny", "once")), ("yy", None), ("maybe", None),
    ],
)  # fmt: skip
def test_only_a_plain_yes_allows_and_nothing_at_all_is_a_no(line: str, answer: tuple[str, str] | None) -> None:
    assert answer_of(line, ASK) == answer


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_is_not_true_is_not_offered(language: str) -> None:
    """A tool that is asked about each time, and a day's limit, are not kept for a conversation."""
    words, whole = Words(language), {"approval": "ap", "status": "asked", "tool": "spend", "plugin": "kernel"}
    kept = "in this conversation" if language == "en" else "本对话"
    for yes, offered in (("thread", True), ("once", False), ("day", False)):
        ask = approval({**whole, "yes": yes, "reason": "Today's limit is used up."})
        assert isinstance(ask, Ask)
        assert (kept in prompt(ask, words)) is offered
        assert answer_of("t", ask) == (("allow", "thread") if offered else None)
        assert answer_of("y", ask) == ("allow", "once")
        if yes == "day":
            assert question(ask, words).startswith("Today's limit is used up.\n")
            assert "kernel" not in question(ask, words)
