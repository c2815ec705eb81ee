"""`homed peers …` and `homed rules …`: who is known and what they may, with or without a running daemon."""

from __future__ import annotations

import argparse
from typing import Any

from homed.commands.actions import Actions
from homed.commands.output import as_json, table, when
from homed.commands.reach import ask_or_open
from homed.commands.saying import phrase
from homed.identity.roles import Role


def register(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add both commands."""
    parser = commands.add_parser(
        "peers",
        parents=[common],
        help="people: who has spoken, and the role of each",
        description="Everybody who ever spoke here is a peer, named CHANNEL:ID. An owner may do everything, who is "
        "trusted reads and is asked about, a guest may use what is open to guests.",
        epilog="Examples:\n  homed peers list\n  homed peers role telegram:1234 trusted",
    )
    actions = Actions(parser, common)
    listing = actions.add("list", _list, "everybody who has spoken here, with their roles", "anna")
    listing.add_argument("query", metavar="WORDS", nargs="?", default="", help="only those whose id or name has this")
    role = actions.add("role", _role, "give somebody a role", "telegram:1234 trusted")
    role.add_argument("person", metavar="PEER")
    role.add_argument("role", choices=[role.value for role in Role])

    parser = commands.add_parser(
        "rules",
        parents=[common],
        help="standing answers to permission questions: list, remove",
        description="A rule says for a tool, a person or a conversation whether calls are allowed, asked about or "
        "denied; an answer you had remembered is one.",
        epilog="Examples:\n  homed rules list\n  homed rules remove rule_1a2b",
    )
    actions = Actions(parser, common)
    actions.add("list", _rules, "every rule, oldest first")
    remove = actions.add("remove", _remove, "take one back: what else holds decides from then on", "rule_1a2b")
    remove.add_argument("rule", metavar="RULE")


def _list(args: argparse.Namespace) -> int:
    people: list[dict[str, Any]] = []
    more, after = True, ""
    while more:
        page = ask_or_open(args, "admin.peers_list", query=args.query, after=after, limit=200)
        people += page["persons"]
        more, after = bool(page["more"] and page["persons"]), people[-1]["id"] if people else ""
    if args.json:
        as_json(people)
    elif not people:
        print(
            phrase("Nobody has spoken here yet.")
            if not args.query
            else phrase("Nobody here is called {query}.", query=args.query)
        )
    else:
        table([(p["id"], p["role"], when(p["seen_at"]), p["name"]) for p in people], ("peer", "role", "seen", "name"))
    return 0


def _role(args: argparse.Namespace) -> int:
    person = ask_or_open(args, "admin.peers_role", person=args.person, role=args.role)["person"]
    if args.json:
        as_json(person)
    else:
        print(phrase("{id} is {as_} now.", id=person["id"], as_=_as(person["role"])))
    return 0


def _as(role: str) -> str:
    return {"owner": phrase("an owner"), "guest": phrase("a guest")}.get(role, role)


def _rules(args: argparse.Namespace) -> int:
    rules = ask_or_open(args, "admin.rules_list")["rules"]
    if args.json:
        as_json(rules)
    elif not rules:
        print(phrase("No rule: what a tool may do is decided by its kind, and asked where it is not clear."))
    else:
        rows = [(r["rule"], r["decision"], _about(r), when(r["created_at"])) for r in rules]
        table(rows, ("rule", "says", "for", "since"))
    return 0


def _about(rule: dict[str, Any]) -> str:
    named = [("tool", "tool"), ("class", "class"), ("role", "role"), ("peer_id", "peer"), ("channel", "channel")]
    said = [f"{phrase(word)} {rule[key]}" for key, word in (*named, ("thread", "conversation")) if rule[key]]
    return ", ".join(said) or phrase("everything")


def _remove(args: argparse.Namespace) -> int:
    answer = ask_or_open(args, "admin.rules_remove", rule=args.rule)
    if args.json:
        as_json(answer)
    else:
        print(phrase("{rule} is gone: what else holds decides from now on.", rule=args.rule))
    return 0
