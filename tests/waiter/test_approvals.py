"""What a person is asked, and what counts as an answer."""

from __future__ import annotations

import pytest

from waiter.approvals import PROMPT, answer_of, question
from waiter.commands import COMMANDS
from waiter.progress import Ask


def test_the_arguments_come_first_so_that_the_question_stays_in_sight() -> None:
    asked = question(Ask("ap", "cmd_run", "shell", "dangerous", {"command": "x\n" * 5_000}, "it is dangerous"))
    args, _, last = asked.rpartition("\n")
    assert last == "May cmd_run of the plugin shell run? It is of the class dangerous. (it is dangerous)"
    assert args.count("\n") == 2


def test_people_have_conversations_and_not_threads() -> None:
    """In words; the command /threads and the option --thread keep their names."""
    assert "in this conversation" in PROMPT
    said = [PROMPT, question(Ask("ap", "t", "p", "read", {}, "")), *(command.help for command in COMMANDS.values())]
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
    assert answer_of(line) == answer
