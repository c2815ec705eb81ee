"""`homed memory setup`: how memory finds what is meant though other words are used; asked for, or given in options."""

from __future__ import annotations

import argparse
import getpass
import sys
from collections.abc import Mapping
from typing import Any

from homed.commands.actions import Actions
from homed.commands.output import as_json, clean
from homed.commands.reach import ask_or_open
from homed.commands.saying import phrase, translated
from homed.errors import InvalidInput, Unavailable

KINDS = ("auto", "bundled", "folder", "static", "endpoint", "tfidf", "off")

EXAMPLES = """
  homed memory setup --embedding bundled
  homed memory setup --base-url https://api.example.org/v1 --model text-embed
  homed memory setup --embedding off"""

ABOUT = """Memory finds by words, always. Vectors find what is meant by other words besides:
  1  built in   works at once and offline; nothing leaves this machine
  2  endpoint   an OpenAI-compatible /embeddings API; what is remembered is sent there
  3  none       by words alone
A model folder (ONNX) or word vectors: `homed config set core.memory.embedding_folder DIR`, and
`core.agent.embedding_model_path`. Whatever is chosen, all vectors are made anew beside; search works meanwhile."""


def add(actions: Actions) -> None:
    """Add the action to those of `homed memory`."""
    setup = actions.add("setup", _setup, "choose how memory finds by meaning; asks, or takes options")
    setup.epilog = f"{setup.epilog}{EXAMPLES}"
    setup.add_argument("--embedding", choices=KINDS, default=None, help="what makes the vectors")
    setup.add_argument("--base-url", metavar="URL", default=None, help="of an OpenAI-compatible API with /embeddings")
    setup.add_argument("--model", metavar="M", default=None)
    setup.add_argument("--dimensions", type=int, metavar="N", default=None, help="to ask for; 0: the model's own")
    setup.add_argument("--api-key", metavar="K", default=None, help="- reads it from stdin; '' takes it away")
    setup.add_argument("--no-test", action="store_true", help="save without asking the endpoint for a vector first")


def _setup(args: argparse.Namespace) -> int:
    given = {
        "embedding": args.embedding, "base_url": args.base_url, "model": args.model, "dimensions": args.dimensions,
        "api_key": sys.stdin.readline().strip() if args.api_key == "-" else args.api_key,
    }  # fmt: skip
    wanted = {key: value for key, value in given.items() if value is not None}
    if not wanted:
        found = ask_or_open(args, "admin.embedding_get")
        if args.json or not sys.stdin.isatty():
            return _shown(args, found)
        print(
            "\n".join(clean(line) for line in standing(found)),
            "\n\n" + "\n".join(map(phrase, ABOUT.splitlines())) + "\n",
            sep="",
            file=sys.stderr,
        )
        wanted = _asked(found)
        if not wanted:
            print(phrase("Nothing was changed."), file=sys.stderr)
            return 0
    if "base_url" in wanted or "model" in wanted or wanted.get("embedding") == "endpoint":
        wanted.setdefault("embedding", "endpoint")
        if not args.no_test and not _works(args, wanted):
            return 1
    return _shown(args, ask_or_open(args, "admin.embedding_set", **wanted))


def _asked(found: Mapping[str, Any]) -> dict[str, Any]:
    """What the person at the terminal wants; {} leaves it as it is."""
    choice = _line(phrase("Which one (1, 2, 3; empty leaves it as it is)? "))
    if choice in ("", "1", "3"):
        return {"": {}, "1": {"embedding": "bundled"}, "3": {"embedding": "off"}}[choice]
    if choice != "2":
        raise InvalidInput(f"{clean(choice)[:20]} is none of them.")
    wanted: dict[str, Any] = {"embedding": "endpoint"}
    for key, said in (("base_url", "Base URL"), ("model", phrase("Model"))):
        now = phrase(" ({text})", text=found[key]) if found[key] else ""
        wanted[key] = _line(phrase("{what}{now}: ", what=said, now=now)) or found[key]
    kept = phrase(" (empty keeps the one there is)") if found["hasKey"] else phrase(" (empty for none)")
    if key := getpass.getpass(phrase("API key{kept}: ", kept=kept)).strip():
        wanted["api_key"] = key
    return wanted


def _works(args: argparse.Namespace, wanted: Mapping[str, Any]) -> bool:
    """Ask the endpoint for one vector; nothing is kept.  At a terminal it may be saved though it does not answer."""
    place = {key: value for key, value in wanted.items() if key != "embedding"}
    found = ask_or_open(args, "admin.embedding_probe", **place)
    if found["ok"]:
        print(phrase("It answers: {dims} dimensions, {ms} ms.", **found), file=sys.stderr)
        return True
    print(
        clean(
            phrase(
                "It does not work: {error} {hint}", error=translated(found["error"]), hint=translated(found["hint"])
            ).rstrip()
        ),
        file=sys.stderr,
    )
    if sys.stdin.isatty() and _line(phrase("Save it all the same? [y/N] ")).lower() in ("y", "yes", "是", "д", "да"):
        return True
    print(phrase("Nothing was saved; --no-test saves it all the same."), file=sys.stderr)
    return False


def _line(question: str) -> str:
    print(question, end="", file=sys.stderr, flush=True)
    try:
        return input().strip()
    except EOFError:
        raise Unavailable("Nobody answers.") from None


def _shown(args: argparse.Namespace, found: Mapping[str, Any]) -> int:
    if args.json:
        as_json(found)
    else:
        print("\n".join(clean(line) for line in standing(found)))
    return 0


def standing(found: Mapping[str, Any]) -> list[str]:
    """How vectors are made now, as lines; never the key."""
    made, progress = found["embedder"], found["progress"]
    state = phrase("known once homed runs")
    if made.get("state"):
        state = phrase("{used} ({state})", used=made["used"] or phrase("none"), state=phrase(made["state"]))
    lines = [
        phrase("Vectors: {embedding}; in use: {state}", embedding=found["embedding"], state=state)
        + (phrase(", {dims} dimensions", dims=found["dims"]) if found["dims"] else "")
    ]
    if found["base_url"]:
        key = phrase("with a key") if found["hasKey"] else phrase("without a key")
        lines.append(
            phrase(
                "  endpoint {base_url}, model {model}, {key}",
                base_url=found["base_url"],
                model=found["model"] or phrase("(none)"),
                key=key,
            )
        )
    if made.get("reason"):
        lines.append(f"  {translated(made['reason'])}")
    failed = phrase(", {failed} given up", failed=progress["failed"]) if progress["failed"] else ""
    lines.append(
        phrase("  {done} of {total} made{failed}", done=progress["done"], total=progress["total"], failed=failed)
    )
    lines += [f"  {translated(found['trouble'])}"] if found["trouble"] else []
    lines += [phrase("  {key} is set in {place}", key=key, place=place) for key, place in found["places"].items()]
    return lines
