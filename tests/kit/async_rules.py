"""``flake8-async`` with one walk over a module where it makes one for each of its rules: the same findings, sooner.

``python -m tests.kit.async_rules [its options] FILE…`` prints and ends as ``flake8-async`` does.  That one finds the
place of every token and builds the whole tree again before each rule, since a rule may mend what it finds.  Here none
mends anything, so places are found once, and rules that are independent of each other walk together.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Sequence

import flake8_async
import libcst as cst
from flake8_async.base import Error
from flake8_async.runner import Flake8AsyncRunner_cst


class Together(cst.CSTTransformer):
    """Several visitors on one walk: each sees what it would see alone, and nothing below a node it turned away from."""

    def __init__(self, visitors: Sequence[cst.CSTTransformer]) -> None:
        super().__init__()
        self.awake: Sequence[cst.CSTTransformer] = visitors
        self.above: list[Sequence[cst.CSTTransformer]] = []
        # For each method the visitors that have one of their own: almost all of the thousand methods do nothing.
        self.own: dict[str, list[cst.CSTTransformer]] = {}
        for visitor in visitors:
            for name in dir(type(visitor)):
                mine = getattr(type(visitor), name)
                if name.startswith(("visit_", "leave_")) and mine is not getattr(cst.CSTTransformer, name, None):
                    self.own.setdefault(name, []).append(visitor)

    def on_visit(self, node: cst.CSTNode) -> bool:
        self.above.append(self.awake)
        if own := self.own.get(f"visit_{type(node).__name__}"):
            self.awake = [visitor for visitor in self.awake if visitor not in own or visitor.on_visit(node)]
        return bool(self.awake)

    def on_leave(self, original_node: cst.CSTNodeT, updated_node: cst.CSTNodeT) -> cst.CSTNodeT:
        self.awake = self.above.pop()
        for visitor in self.own.get(f"leave_{type(original_node).__name__}", ()):
            if visitor in self.awake:
                visitor.on_leave(original_node, original_node)
        return original_node

    def on_visit_attribute(self, node: cst.CSTNode, attribute: str) -> None:
        for visitor in self.own.get(f"visit_{type(node).__name__}_{attribute}", ()):
            if visitor in self.awake:
                visitor.on_visit_attribute(node, attribute)

    def on_leave_attribute(self, original_node: cst.CSTNode, attribute: str) -> None:
        for visitor in self.own.get(f"leave_{type(original_node).__name__}_{attribute}", ()):
            if visitor in self.awake:
                visitor.on_leave_attribute(original_node, attribute)


class OneWalk(Flake8AsyncRunner_cst):  # type: ignore[misc]
    """First what the rules need to know (imports, ``noqa``), then the rules themselves."""

    def run(self) -> Iterable[Error]:
        if self.options.autofix_codes:
            raise SystemExit("async_rules finds and mends nothing: flake8-async --autofix does")
        wrapper = cst.MetadataWrapper(self.module, unsafe_skip_copy=True)
        with contextlib.ExitStack() as stack:
            for visitor in (*self.utility_visitors, *self.visitors):
                stack.enter_context(visitor.resolve(wrapper))
            for visitors in (self.utility_visitors, self.visitors):
                wrapper.module.visit(Together(visitors))
        yield from self.state.problems
        self.noqas = self.state.noqas


def main() -> int:
    """Rules of ``flake8-async`` over the files of the command line; 1 when one of them is broken."""
    flake8_async.Flake8AsyncRunner_cst = OneWalk
    return int(flake8_async.main())


if __name__ == "__main__":
    sys.exit(main())
