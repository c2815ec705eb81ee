"""Permissions: a table of defaults, rules on top, and three things no rule can change."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homed.identity.permissions import Decision, Request, Rule, decide
from homed.identity.roles import Role

ALLOW, ASK, DENY = Decision.ALLOW, Decision.ASK, Decision.DENY

REQUEST = Request(
    tool="files_write", plugin="files", tool_class="write", guest=False, packaged=True, confirm=False,
    role=Role.OWNER, channel="webui", peer="webui:owner", thread="t1", tainted=False,
)  # fmt: skip

words = st.sampled_from(
    ["", "", "", "", "webui", "qq", "webui:owner", "qq:1", "t1", "files_write", "cmd_run", "owner", "guest"]
)
rules = st.lists(
    st.builds(
        Rule, decision=st.sampled_from(Decision), channel=words, role=st.sampled_from(["", *Role]), peer=words,
        tool=words, tool_class=st.sampled_from(["", "read", "write", "dangerous"]), thread=words,
    ),
    max_size=6,
)  # fmt: skip
requests = st.builds(
    Request, tool=st.sampled_from(["files_write", "cmd_run"]), plugin=st.just("files"),
    tool_class=st.sampled_from(["read", "write", "dangerous", "odd"]), guest=st.booleans(), packaged=st.booleans(),
    confirm=st.booleans(), role=st.sampled_from(Role), channel=st.sampled_from(["webui", "qq"]),
    peer=st.sampled_from(["webui:owner", "qq:1"]), thread=st.just("t1"), tainted=st.booleans(),
)  # fmt: skip


def verdict(*with_rules: Rule, **changes: object) -> Decision:
    return decide(replace(REQUEST, **changes), with_rules).decision  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("role", "tool_class", "decision"),
    [
        (Role.OWNER, "read", ALLOW),
        (Role.OWNER, "write", ASK),
        (Role.OWNER, "dangerous", ASK),
        (Role.TRUSTED, "read", ALLOW),
        (Role.TRUSTED, "write", ASK),
        (Role.TRUSTED, "dangerous", DENY),
        (Role.GUEST, "read", DENY),
        (Role.GUEST, "write", DENY),
        (Role.GUEST, "dangerous", DENY),
        (Role.OWNER, "unheard-of", ASK),
        (Role.TRUSTED, "unheard-of", DENY),
    ],
)
def test_defaults(role: Role, tool_class: str, decision: Decision) -> None:
    assert verdict(role=role, tool_class=tool_class) is decision


def test_a_guest_may_use_a_read_tool_that_a_packaged_plugin_declares_for_guests() -> None:
    assert verdict(role=Role.GUEST, tool_class="read", guest=True) is ALLOW
    assert verdict(role=Role.GUEST, tool_class="read", guest=True, packaged=False) is DENY
    assert verdict(role=Role.GUEST, tool_class="write", guest=True) is DENY


@given(requests, rules)
def test_no_rule_opens_to_a_guest_what_is_not_declared(request: Request, some: list[Rule]) -> None:
    request = replace(request, role=Role.GUEST)
    if not (request.guest and request.packaged and request.tool_class == "read"):
        assert decide(request, some).decision is DENY


@given(requests, rules)
def test_a_confirm_tool_never_runs_unasked_and_only_owners_are_asked(request: Request, some: list[Rule]) -> None:
    decision = decide(replace(request, confirm=True, guest=False), some).decision
    assert decision is (decision if request.role is Role.OWNER else DENY)
    assert decision is not ALLOW


@pytest.mark.parametrize("rule", [Rule(ALLOW), Rule(ALLOW, tool="files_write", thread="t1", peer="webui:owner")])
@pytest.mark.parametrize("tool_class", ["write", "dangerous", "unheard-of"])
def test_after_outside_text_even_the_exact_rule_does_not_let_it_write(rule: Rule, tool_class: str) -> None:
    assert verdict(rule, tool_class=tool_class) is ALLOW
    assert verdict(rule, tool_class=tool_class, tainted=True) is ASK
    assert verdict(rule, tool_class="read", tainted=True) is ALLOW


@given(requests, rules)
def test_after_outside_text_nothing_that_writes_runs_unasked(request: Request, some: list[Rule]) -> None:
    request = replace(request, tainted=True)
    if request.tool_class != "read":
        assert decide(request, some).decision is not ALLOW


@given(requests, rules)
def test_a_matching_deny_always_wins(request: Request, some: list[Rule]) -> None:
    assert decide(request, [*some, Rule(DENY)]).decision is DENY


def test_a_rule_for_the_thread_lets_the_tool_run_there_only() -> None:
    rule = Rule(ALLOW, tool="files_write", thread="t1")
    assert verdict(rule) is ALLOW
    assert verdict(rule, thread="t2") is ASK
    assert verdict(rule, tool="cmd_run") is ASK


def test_a_rule_that_names_the_tool_beats_one_for_its_class() -> None:
    assert verdict(Rule(ALLOW, tool="files_write"), Rule(ASK, tool_class="write", channel="webui")) is ALLOW


def test_of_equally_specific_rules_the_stricter_holds() -> None:
    assert verdict(Rule(ALLOW, channel="webui"), Rule(ASK, thread="t1")) is ASK


def test_a_rule_may_open_a_dangerous_tool_to_somebody_trusted() -> None:
    rule = Rule(ALLOW, peer="qq:1", tool="cmd_run")
    assert verdict(rule, role=Role.TRUSTED, peer="qq:1", tool="cmd_run", tool_class="dangerous") is ALLOW


def test_a_rule_that_says_ask_means_no_for_a_guest() -> None:
    assert verdict(Rule(ASK), role=Role.GUEST, tool_class="read", guest=True) is DENY


@given(requests, rules)
def test_every_verdict_has_a_reason_that_names_the_tool(request: Request, some: list[Rule]) -> None:
    assert request.tool in decide(request, some).reason


def test_what_only_remembers_is_not_asked_for_but_after_outside_text() -> None:
    assert verdict(own=True) is ALLOW
    assert verdict(own=True, role=Role.TRUSTED) is ALLOW
    assert verdict(own=True, role=Role.GUEST, guest=True) is DENY
    assert verdict(own=True, tainted=True) is ASK
    assert verdict(own=True, tool_class="dangerous") is ASK
    assert verdict(own=True, tool_class="dangerous", role=Role.TRUSTED) is DENY
    assert verdict(own=True, confirm=True) is ASK
    assert verdict(Rule(ASK, tool="files_write"), own=True) is ASK, "a rule of the owner's counts more"
