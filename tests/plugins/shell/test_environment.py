"""What a command may see of the environment."""

from __future__ import annotations

from plugins.shell.environment import scrubbed


def test_only_known_names_are_kept() -> None:
    given = {"PATH": "/bin", "HOME": "/h", "LC_ALL": "C", "MY_TOKEN": "t", "DATABASE_URL": "u", "HOMED_MARK": "m"}
    assert scrubbed(given) == {
        "PATH": "/bin", "HOME": "/h", "LC_ALL": "C", "TERM": "dumb", "PAGER": "cat", "GIT_TERMINAL_PROMPT": "0",
    }  # fmt: skip


def test_there_is_always_a_path() -> None:
    assert scrubbed({})["PATH"]
