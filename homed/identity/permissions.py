"""May this tool run for this person, or must somebody be asked?  Pure.

The defaults are strict; rules of the owner's refine them; three things no rule can change: a guest runs nothing but
read tools that a packaged plugin declares for guests, a ``confirm`` tool is always asked for, and while untrusted text
(a web page, a mail) is in view, whatever writes is asked for again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from homed.identity.roles import Role

READ = "read"
WRITE = "write"
DANGEROUS = "dangerous"


class Decision(StrEnum):
    """What happens with a call."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


_STRICTNESS = (Decision.ALLOW, Decision.ASK, Decision.DENY)

DEFAULTS: dict[tuple[Role, str], Decision] = {
    (Role.OWNER, READ): Decision.ALLOW,
    (Role.OWNER, WRITE): Decision.ASK,
    (Role.OWNER, DANGEROUS): Decision.ASK,
    (Role.TRUSTED, READ): Decision.ALLOW,
    (Role.TRUSTED, WRITE): Decision.ASK,
    (Role.TRUSTED, DANGEROUS): Decision.DENY,
}
"""What holds without a rule; a class that is none of the three counts as dangerous."""


@dataclass(frozen=True, slots=True)
class Request:
    """One call that wants to run.

    ``guest``, ``confirm``, ``tool_class`` come from the manifest; ``packaged`` from where the plugin was installed;
    ``tainted``: untrusted text came into this turn, or another tool's is still in view from an earlier one.  ``own``:
    the kernel's own tool, which writes nothing but what it remembers.
    """

    tool: str
    plugin: str
    tool_class: str
    guest: bool
    packaged: bool
    confirm: bool
    role: Role
    channel: str
    peer: str
    thread: str
    tainted: bool
    own: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """A standing decision of the owner's.  An empty field matches everything."""

    decision: Decision
    id: str = ""
    channel: str = ""
    role: str = ""
    peer: str = ""
    tool: str = ""
    tool_class: str = ""
    thread: str = ""
    created_at: float = 0.0

    def matches(self, request: Request) -> bool:
        """True if every field that is set agrees with the request."""
        return all(not wanted or wanted == actual for wanted, actual in self._pairs(request))

    @property
    def weight(self) -> int:
        """How specific it is: the number of fields set, one tool counting more than any class of them."""
        fields = (self.channel, self.role, self.peer, self.tool_class, self.thread)
        return sum(map(bool, fields)) + (8 if self.tool else 0)

    def _pairs(self, request: Request) -> tuple[tuple[str, str], ...]:
        return (
            (self.channel, request.channel),
            (self.role, request.role.value),
            (self.peer, request.peer),
            (self.tool, request.tool),
            (self.tool_class, request.tool_class),
            (self.thread, request.thread),
        )


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision, and one sentence for the person or the model."""

    decision: Decision
    reason: str


def decide(request: Request, rules: Sequence[Rule]) -> Verdict:
    """Decide one call.  A matching deny wins over everything; else the most specific rule; equal ones, the stricter."""
    matching = [rule for rule in rules if rule.matches(request)]
    if any(rule.decision is Decision.DENY for rule in matching):
        return Verdict(Decision.DENY, f"A rule of the owner's forbids {request.tool} here.")
    if request.role is Role.GUEST:
        return _for_guest(request, matching)
    if request.confirm:
        return _for_confirm(request)
    verdict = _by_rule_or_default(request, matching)
    if verdict.decision is Decision.ALLOW and request.tainted and request.tool_class != READ:
        return Verdict(Decision.ASK, f"Text from outside is in view, so {request.tool} needs your word.")
    return verdict


def strictest(verdicts: Iterable[Verdict]) -> Verdict:
    """The one that lets the least through, the first of equal ones.  ValueError for none."""
    return max(verdicts, key=lambda verdict: _STRICTNESS.index(verdict.decision))


def _for_guest(request: Request, matching: Sequence[Rule]) -> Verdict:
    declared = request.guest and request.packaged and request.tool_class == READ
    # nobody is there to be asked on a guest's behalf, so a rule that says ask means no
    if not declared or any(rule.decision is Decision.ASK for rule in matching):
        return Verdict(Decision.DENY, f"Guests may not use {request.tool}.")
    return Verdict(Decision.ALLOW, f"{request.tool} is open to guests.")


def _for_confirm(request: Request) -> Verdict:
    if request.role is not Role.OWNER:
        return Verdict(Decision.DENY, f"Only an owner may confirm {request.tool}.")
    return Verdict(Decision.ASK, f"{request.tool} cannot be undone, so it is asked for each time.")


def _by_rule_or_default(request: Request, matching: Sequence[Rule]) -> Verdict:
    if matching:
        best = max(matching, key=lambda rule: (rule.weight, _STRICTNESS.index(rule.decision)))
        return Verdict(best.decision, f"A rule of the owner's says {best.decision.value} for {request.tool}.")
    if request.own and request.tool_class == WRITE:
        # it can be taken back, and remembers within the scope of who said it: to be asked each time, or to have nothing
        # remembered where nobody can be asked, would be worse
        return Verdict(Decision.ALLOW, f"{request.tool} only remembers.")
    tool_class = request.tool_class if request.tool_class in (READ, WRITE) else DANGEROUS
    decision = DEFAULTS[request.role, tool_class]
    if decision is Decision.DENY:
        return Verdict(decision, f"{request.tool} is {tool_class}; the role {request.role.value} may not use it.")
    return Verdict(decision, f"{request.tool} is a {tool_class} tool.")
