"""`homed bench`: how well this installation finds again what was said."""

from __future__ import annotations

import argparse
import resource
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any

import trio

from homed.commands.output import clean, padded
from homed.commands.saying import phrase
from homed.errors import InvalidInput
from homed.wire.stream import homed_error

if TYPE_CHECKING:
    from homed.jobs.trial import Filled


def register(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "bench",
        help="how well memories are found again",
        description="Measure this installation on data of yours, in a folder of its own that is removed afterwards.",
    )
    kinds = parser.add_subparsers(title="what", metavar="WHAT", required=True)
    recall = kinds.add_parser(
        "recall",
        parents=[common],
        help="questions to histories, answered by the memory engine",
        description="Store the events of each history through the memory engine, ask it every question, and write"
        " which events it found, best first.\nOf an event: history, id, session, time, speaker, text.  Of a question:"
        " history, id, text.  No data folder of yours is touched.",
        epilog="Examples:\n  homed bench recall --events events.jsonl --queries queries.jsonl --out hits.jsonl\n"
        "  homed bench recall --events e.jsonl --queries q.jsonl --out h.jsonl --embedder off --limit 50",
    )
    recall.add_argument("--events", type=Path, required=True, metavar="FILE", help="what was said: lines of JSON")
    recall.add_argument("--queries", type=Path, required=True, metavar="FILE", help="the questions: lines of JSON")
    recall.add_argument("--out", type=Path, required=True, metavar="FILE", help="where the ids that were found go")
    recall.add_argument(
        "--embedder", default="", metavar="NAME", help="bundled, tfidf, off, static, endpoint, or a model's folder"
    )
    recall.add_argument("--fusion", default="", choices=("sum", "rrf"), help="how words and vectors are made one")
    recall.add_argument("--limit", type=int, default=1000, metavar="N", help="events a question (default 1000)")
    recall.add_argument(
        "--ablate", action="store_true", help="say what each part of the ranker is worth, by the questions' `gold`"
    )
    recall.set_defaults(handler=run)


def run(args: argparse.Namespace) -> int:
    """Answer every question; 0 when all are written."""
    if args.limit < 1:
        raise InvalidInput("--limit must be at least 1.")
    try:
        trio.run(_recall, args)
    except BaseExceptionGroup as group:
        raise homed_error(group) or group from None
    return 0


async def _recall(args: argparse.Namespace) -> None:
    from homed.jobs import trial, trial_files  # the whole engine, which no other command needs

    said, sought = trial_files.events(args.events), trial_files.queries(args.queries)
    async with trial.open_trial(args.embedder, args.fusion) as bench:
        filled = await bench.fill(said, _say)
        answers = await bench.answer(filled, sought, args.limit, _say)
        trial_files.write_hits(args.out, answers.hits)
        if args.ablate:
            gold = trial_files.gold(args.queries)
            _say(_row(phrase("everything"), answers.hits, gold))
            for part in trial.parts_of(filled):
                less = await bench.answer(filled, sought, args.limit, _say, [part])
                _say(_row(phrase("without {part}", part=part), less.hits, gold))
    _say(_figures(len(said), filled, answers.took))  # now that the embedder's process has ended and can be weighed


def _say(line: str) -> None:
    print(clean(line), file=sys.stderr, flush=True)


def _figures(count: int, filled: Filled, took: Sequence[float]) -> str:
    own, child = (resource.getrusage(who).ru_maxrss // 1024 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    seconds = filled.stored + filled.embedded
    parts = [
        phrase("{rate} events/s", rate=_rate(count, seconds)),
        phrase("stored {rate}/s", rate=_rate(count, filled.stored)),
    ]
    if filled.kind:
        parts.append(
            phrase(
                "{vectors} vectors ({kind}) {rate}/s",
                vectors=filled.vectors,
                kind=filled.kind,
                rate=_rate(filled.vectors, filled.embedded),
            )
        )
    if took:
        times = sorted(took)
        parts.append(phrase("query p50 {p50:.1f} ms, p99 {p99:.1f} ms", p50=_at(times, 50), p99=_at(times, 99)))
    return phrase("{parts}, peak memory {own} MB and {child} MB beside", parts=", ".join(parts), own=own, child=child)


def _rate(count: int, seconds: float) -> str:
    return f"{count / max(seconds, 1e-9):.0f}"


def _at(times: Sequence[float], percent: int) -> float:
    return 1000 * times[min(len(times) - 1, len(times) * percent // 100)]


def _row(name: str, hits: Mapping[str, list[str]], gold: Mapping[str, frozenset[str]]) -> str:
    """Mean share of a question's evidence among the first 10 and 20, and how often all of it is among the first 10."""
    asked = [(found, gold[id_]) for id_, found in hits.items() if gold.get(id_)]
    if not asked:
        return phrase("{name}: no question has `gold`", name=name)
    ten, twenty = ([len(gold.intersection(found[:k])) / len(gold) for found, gold in asked] for k in (10, 20))
    every = [float(share == 1.0) for share in ten]
    return phrase(
        "{name}  R@10 {ten:5.1f}  R@20 {twenty:5.1f}  all@10 {every:5.1f}",
        name=padded(name, 20), ten=100 * mean(ten), twenty=100 * mean(twenty), every=100 * mean(every),
    )  # fmt: skip
