"""What a scenario is, and the list of them all."""

from __future__ import annotations

import importlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from tests.providers.stage import Case
from tests.providers.wires import Wired

MODULES = (
    "plain", "streams", "refusals", "tools", "pairs", "reasoning", "pictures", "switching", "learning", "turns",
    "trouble",
)  # fmt: skip
"""Of the folder ``scenarios``, in the order of the table."""


@dataclass(frozen=True)
class Scenario:
    """Something that must go well on every wire.

    ``needs``: what a wire must have for it (``Wired.lacks``).  ``unless``: wires it says nothing about, each with the
    reason.  ``faults``: those of the list of known faults that it is a test of.
    """

    name: str
    what: str
    run: Callable[[Case], Awaitable[None]] = field(repr=False)
    faults: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    unless: Mapping[str, str] = field(default_factory=dict)
    group: str = ""

    def why_not(self, wired: Wired) -> str:
        """Why it says nothing about a wire; empty if it does."""
        if wired.name in self.unless:
            return self.unless[wired.name]
        return next((wired.lacks[need] for need in self.needs if need in wired.lacks), "")


Run = Callable[[Case], Awaitable[None]]


class Book:
    """The scenarios of one module, by decoration; the docstring's first line says what each is about."""

    def __init__(self, group: str) -> None:
        self.group = group
        self.scenarios: list[Scenario] = []

    def scenario(
        self, *faults: str, needs: tuple[str, ...] = (), unless: Mapping[str, str] | None = None
    ) -> Callable[[Run], Run]:
        """Add a function, whose name with dashes is the scenario's."""

        def add(run: Run) -> Run:
            name = getattr(run, "__name__", "").replace("_", "-")
            what = (run.__doc__ or "").strip().splitlines()[0].rstrip(".")
            self.scenarios.append(Scenario(name, what, run, faults, needs, unless or {}, self.group))
            return run

        return add


def all_scenarios() -> list[Scenario]:
    """Every scenario, in the order of the table."""
    books = [importlib.import_module(f"tests.providers.scenarios.{name}").BOOK for name in MODULES]
    found = [scenario for book in books for scenario in book.scenarios]
    names = [scenario.name for scenario in found]
    assert len(set(names)) == len(names), "two scenarios have the same name"
    return found
