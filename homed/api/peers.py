"""``admin.peers_*``, ``admin.rules_*``: who may do what, and the standing answers to permission questions."""

from __future__ import annotations

from collections.abc import Mapping

from homed.api.method import Method, Name, PeerCall, PeerParams, administrative
from homed.api.social import ListPersons, list_persons, set_role
from homed.api.social import SetRole as PeersRole
from homed.identity.permissions import Rule


class OfRule(PeerParams):
    """``admin.rules_remove``"""

    rule: Name


async def rules_list(call: PeerCall[PeerParams]) -> Mapping[str, object]:
    """Every standing rule, oldest first."""
    return {"rules": [_shown(rule) for rule in await call.ports.rules.list_()]}


async def rules_remove(call: PeerCall[OfRule]) -> Mapping[str, object]:
    """Take one back: the next such call is asked about again, or decided by what else holds."""
    await call.ports.rules.remove(call.params.rule)
    return {}


def _shown(rule: Rule) -> dict[str, object]:
    return {
        "rule": rule.id, "decision": rule.decision.value, "tool": rule.tool, "class": rule.tool_class,
        "role": rule.role, "peer_id": rule.peer, "channel": rule.channel, "thread": rule.thread,
        "created_at": rule.created_at,
    }  # fmt: skip


METHODS: dict[str, Method] = {
    "admin.peers_list": administrative(ListPersons, list_persons),
    "admin.peers_role": administrative(PeersRole, set_role, in_person=True),
    "admin.rules_list": administrative(PeerParams, rules_list),
    "admin.rules_remove": administrative(OfRule, rules_remove, in_person=True),
}
