"""`homed usage …`: what models cost, where that stands against the limits, and the prices it is reckoned with."""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any

from homed.commands.output import as_json, clean, table
from homed.commands.reach import ask_or_open
from homed.commands.saying import phrase

BY = ("day", "source", "model", "kind", "who", "thread", "peer")
"""What the sums can be by."""


def register(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "usage",
        parents=[common],
        help="tokens and money that models took, the limits, the prices",
        description="What models took: tokens, and money as far as prices are known; where today stands against its"
        " limits (core.spend.*). An unknown price is not nothing: give it, or see it counted in tokens.",
        epilog="Examples:\n  homed usage\n  homed usage --by source --days 7\n  homed usage prices\n"
        "  homed usage price deepseek deepseek-chat --prompt 0.28 --cached 0.028 --completion 0.42\n"
        "  homed usage unprice deepseek deepseek-chat",
    )
    parser.add_argument(
        "what", nargs="?", default="show", choices=list(_ACTIONS), metavar="ACTION",
        help="show (as it is without one), prices, price (give one), unprice (forget one)",
    )  # fmt: skip
    parser.add_argument("source", nargs="?", default="", metavar="SOURCE", help="the source's name; * for every one")
    parser.add_argument("model", nargs="?", default="", metavar="MODEL", help="its model; * for every one")
    parser.add_argument("--days", type=int, default=30, metavar="N", help="today and the days before it (30)")
    parser.add_argument("--by", choices=BY, default="day", help="what the sums are by (day)")
    for name, text in (("prompt", "read"), ("cached", "read from its cache"), ("completion", "written")):
        parser.add_argument(f"--{name}", metavar="AMOUNT", help=f"money for a million tokens {text}")
    parser.add_argument("--currency", default="USD", metavar="CUR", help="of the price, by its three letters (USD)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(handler=_run)


def _run(args: argparse.Namespace) -> int:
    wanting = args.what in ("price", "unprice")
    missing = phrase("SOURCE and MODEL") if wanting and not args.model else ""
    if args.what == "price" and not missing and (args.prompt is None or args.completion is None):
        missing = phrase("--prompt and --completion")
    if missing:
        print(
            phrase("homed usage: {what} needs {missing}. See `homed usage --help`.", what=args.what, missing=missing),
            file=sys.stderr,
        )
        return 2
    return _ACTIONS[args.what](args)


def _show(args: argparse.Namespace) -> int:
    found = ask_or_open(args, "admin.usage", days=args.days)
    if args.json:
        as_json(found)
        return 0
    for line in _standing(found):
        print(line)
    rows = list(_sums(found, args.by))
    if not rows:
        what = (
            phrase("No plugin and no job asked a model")
            if args.by == "who"
            else phrase("Nothing was asked of any model")
        )
        print(phrase("\n{what} in this time.", what=what))
        return 0
    print()
    table(rows, (args.by, "calls", "read", "of it cached", "written", "cost"))
    if unknown := sum(one["prompt"] + one["completion"] for one in found["days"] if one["price"] == "unknown"):
        print(
            phrase(
                "\nOf {unknown} tokens nobody knows the price: `homed usage prices`, `homed usage "
                "price SOURCE MODEL …`.",
                unknown=unknown,
            )
        )
    return 0


def _standing(found: Mapping[str, Any]) -> Iterable[str]:
    today, limits = found["today"], found["limits"]
    most = limits["day_tokens"] * (1 + today["times"])
    yield phrase(
        "Today: {tokens} tokens{most}.",
        tokens=today["tokens"],
        most=phrase(" of {most}", most=most) if most else phrase(", no limit"),
    )
    if Decimal(limits["day_money"]):
        limit = Decimal(limits["day_money"]) * (1 + today["times"])
        yield phrase(
            "       {money} of {limit:f} {currency}, as far as prices are known.",
            money=today["money"],
            limit=limit,
            currency=limits["currency"],
        )
    if today["times"]:
        yield phrase("       It was let go on past its limit, by {times} × as much.", times=today["times"])
    yield phrase(
        "Work without you stops at {background_percent} % of a day's limit.",
        background_percent=limits["background_percent"],
    )
    if limits["turn_tokens"]:
        yield phrase("A message may use {turn_tokens} tokens.", turn_tokens=limits["turn_tokens"])


def _sums(found: Mapping[str, Any], by: str) -> Iterable[tuple[object, ...]]:
    groups: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    if by in ("day", "source", "model", "kind"):
        for one in found["days"]:
            groups[str(one[by])].append(one)
    else:
        listed = {"who": "who", "thread": "threads", "peer": "peers"}[by]
        for one in found[listed]:
            groups[str(one.get("title") or one[by])] += one["spent"]
    for name, amounts in groups.items():
        yield (
            name,
            *(sum(a[key] for a in amounts) for key in ("calls", "prompt", "cached", "completion")),
            cost(amounts),
        )


def cost(amounts: Iterable[Mapping[str, Any]]) -> str:
    """What they cost together: a sum for each currency; what is unknown is said, and never a zero."""
    money: dict[str, Decimal] = defaultdict(Decimal)
    kinds = set()
    for one in amounts:
        kinds.add(one["price"])
        if one["price"] == "known":
            money[one["currency"]] += Decimal(one["cost"])
    said = [f"{amount.normalize():f} {currency}" for currency, amount in sorted(money.items())]
    if "unknown" in kinds:
        said.append(phrase("+ unknown" if said else "unknown"))
    return " ".join(said) or phrase("free")


def _prices(args: argparse.Namespace) -> int:
    found = ask_or_open(args, "admin.usage", days=1)["prices"]
    if args.json:
        as_json(found)
        return 0
    rows = [
        (
            one["source"], one["model"],
            *(one[name] if name in one else phrase(one["price"]) for name in ("prompt", "cached", "completion")),
            one.get("currency", ""), phrase("yours" if one["given"] else "known") if one["price"] == "known" else "",
            one.get("at", ""),
        )
        for one in found
    ]  # fmt: skip
    table(rows, ("source", "model", "a million read", "from cache", "written", "in", "whose", "of"))
    return 0


def _price(args: argparse.Namespace) -> int:
    given = {"prompt": args.prompt, "completion": args.completion, "currency": args.currency.upper()}
    if args.cached is not None:
        given["cached"] = args.cached
    ask_or_open(args, "admin.usage_price_set", source=args.source, model=args.model, **given)
    return _done(
        args,
        phrase(
            "{model} of {source} costs that from its next call on.", model=clean(args.model), source=clean(args.source)
        ),
    )


def _unprice(args: argparse.Namespace) -> int:
    ask_or_open(args, "admin.usage_price_remove", source=args.source, model=args.model)
    return _done(
        args,
        phrase("The price of {model} of {source} is forgotten.", model=clean(args.model), source=clean(args.source)),
    )


def _done(args: argparse.Namespace, text: str) -> int:
    if args.json:
        as_json({})
    else:
        print(text)
    return 0


_ACTIONS: Mapping[str, Callable[[argparse.Namespace], int]] = {
    "show": _show, "prices": _prices, "price": _price, "unprice": _unprice,
}  # fmt: skip
