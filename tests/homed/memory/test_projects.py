"""The key of a project."""

from __future__ import annotations

import pytest

from homed.memory.projects import key


def test_a_key_names_the_folder_and_tells_two_of_one_name_apart() -> None:
    one, two = key("/home/anna/My Project!"), key("/home/ben/My Project!")
    assert one.endswith("-my-project")
    assert len(one.partition("-")[0]) == 12
    assert one != two
    assert key("/home/anna/My Project!/") == one
    assert key("/工作/项目").endswith("-项目")
    assert len(key("/" + "x" * 500)) == 12 + 1 + 32


def test_no_folder_is_no_project_and_nonsense_is_refused() -> None:
    assert key("") == ""
    assert key("/") == ""
    for bad in ("work", "./x", "/a/../b", "/a\nb", "C:\\x"):
        with pytest.raises(ValueError, match=r".+"):
            key(bad)
