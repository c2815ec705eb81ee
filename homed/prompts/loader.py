"""Prompt texts live in .md files beside this module; the code only names them and fills their blanks."""

from __future__ import annotations

from importlib import resources
from string import Template


def load(name: str) -> str:
    """The text of ``NAME.md``, without its last newline.  Raises FileNotFoundError for a name that is not there."""
    return resources.files(__package__).joinpath(f"{name}.md").read_text(encoding="utf-8").rstrip("\n")


def fill(text: str, **blanks: str) -> str:
    """``text`` with every ``$blank`` replaced; what is put in is not looked at again.  KeyError for a missing one."""
    return Template(text).substitute(blanks)
