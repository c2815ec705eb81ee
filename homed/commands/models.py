"""`homed models …`: model sources and their keys, with or without a running daemon."""

from __future__ import annotations

import argparse
import getpass
import sys
from pathlib import Path
from typing import Any

from homed.commands.actions import Actions
from homed.commands.output import as_json, clean, table
from homed.commands.place import paths_of
from homed.commands.reach import ask_or_open
from homed.commands.saying import phrase, translated
from homed.providers.local.weights import MODEL, Telling, Weights
from homed.providers.options import parsed


def register(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command and its own commands."""
    parser = commands.add_parser(
        "models",
        parents=[common],
        help="model sources: list, add, use, remove, test, adapters, record, replay, install",
        description="A source is an endpoint with a model and, mostly, a key, or a GGUF file that runs on this machine."
        " Of well-known ones the name and a key are enough: deepseek, openai, anthropic, gemini, mistral, groq, github,"
        " ollama. While there is none, the small built-in model answers (embedded).",
        epilog="Examples:\n  homed models add deepseek\n  homed models list --available deepseek\n"
        "  homed models test deepseek\n  homed models use deepseek\n"
        "  homed models add work --base-url https://llm.example.com/v1 --model some-model\n"
        "  homed models add mine --gguf ~/models/mine.gguf",
    )
    actions = Actions(parser, common)
    listing = actions.add("list", _list, "the sources; never a key")
    listing.add_argument("--available", metavar="SOURCE", help="the models that this source's server has")
    _add_options(actions)
    for name, handler, text in (
        ("use", _use, "make it the one that answers"),
        ("remove", _remove, "remove it and its key"),
        ("test", _test, "ask it short questions: does it answer, stream, take tools, see images, and how fast"),
    ):
        actions.add(name, handler, text, "deepseek").add_argument("name", metavar="NAME")
    actions.add("adapters", _adapters, "the adapter scripts: where they are, whose, and whether they can be loaded")
    taped = actions.add("record", _record, "for developers: write down what sources are asked and answer", "trip")
    taped.add_argument("name", metavar="NAME", nargs="?", default="", help="of the recording; left out, all are listed")
    taped.add_argument("--off", action="store_true", help="write down no more")
    taped.add_argument("--show", action="store_true", help="what is in it, an exchange a line")
    played = actions.add(
        "replay", _replay, "for developers: what homed makes of a recording; no source is asked", "trip"
    )
    played.add_argument("name", metavar="NAME", help="of the recording")
    played.add_argument("--only", type=int, metavar="N", default=0, help="the exchange of this number alone")
    played.add_argument("--adapter", metavar="A", default="", help="read by this adapter, not by that of the source")
    actions.add("install", _install, "put the built-in model's file in place, or right again; no network is used")


def _add_options(actions: Actions) -> None:
    add = actions.add("add", _add_source, "add a source, or change the one of that name", "deepseek")
    add.set_defaults(misused=add.error)
    add.add_argument("name", metavar="NAME", help="of a well-known one that is all it needs, with a key")
    add.add_argument("--preset", metavar="P", default="", help="a well-known one, under another name")
    add.add_argument("--base-url", metavar="URL", default="", help="like https://api.openai.com/v1")
    add.add_argument("--model", metavar="M", default="", help="the model's name at that source")
    add.add_argument(
        "--gguf", metavar="FILE", default="", help="a model's file to run on this machine, with no address"
    )
    add.add_argument(
        "--api-key",
        metavar="K",
        help="left out on a terminal it is asked for, which keeps it out of the shell's history",
    )
    add.add_argument(
        "--adapter", metavar="A", default="",
        help="how it is spoken to: openai (which most servers are), anthropic, gemini, ollama, or lua:NAME",
    )  # fmt: skip
    add.add_argument(
        "--context-window", type=int, metavar="N", help="tokens it can read; left out 32768, of a file 4096"
    )
    add.add_argument("--priority", type=int, metavar="N", help="of those that can answer, a higher one is first")
    add.add_argument("--max-concurrent", type=int, metavar="N", help="questions at once; left out 8")
    for name, words in (
        ("tools", "whether it is offered tools; very small models do better without"),
        ("vision", "whether it takes images"),
        ("audio", "whether it takes recordings"),
    ):
        add.add_argument(f"--{name}", action=argparse.BooleanOptionalAction, help=words)
    add.add_argument(
        "--option", metavar="NAME=VALUE", action="append", default=[],
        help="a quirk of its server; NAME= takes one out; see the documentation of models",
    )  # fmt: skip


def _list(args: argparse.Namespace) -> int:
    if args.available:
        return _available(args)
    sources = ask_or_open(args, "admin.models_list")["sources"]
    if args.json:
        as_json(sources)
    elif not sources:
        print(phrase("No model source yet, and the built-in model is not installed or switched off."))
        print(phrase("  Add one: homed models add deepseek"))
        print(phrase("       or: homed models add NAME --base-url URL --model M"))
    else:
        rows = [("→" if s["current"] else "", s["name"], s["model"], _key(s), _window(s), _place(s)) for s in sources]
        table(rows, ("", "source", "model", "key", "window", "where"))
        for source in sources:
            if source.get("trouble"):
                print(
                    phrase(
                        "{name} is left alone for a while: {trouble}",
                        name=clean(source["name"]),
                        trouble=clean(translated(source["trouble"])),
                    )
                )
    return 0


def _available(args: argparse.Namespace) -> int:
    models = ask_or_open(args, "admin.models_available", name=args.available)["models"]
    if args.json:
        as_json(models)
        return 0
    rows = [(one["id"], str(one["context_window"] or ""), _mark(one["vision"]), one["title"]) for one in models]
    table(rows, ("model", "window", "images", ""))
    return 0


def _mark(flag: bool | None) -> str:
    return "" if flag is None else phrase("yes" if flag else "no")


def _key(source: dict[str, Any]) -> str:
    return phrase("yes" if source["has_key"] else "no")


def _window(source: dict[str, Any]) -> str:
    learnt = source["learnt_window"]
    return (
        phrase(
            "{learnt} (learnt; set up with {context_window})", learnt=learnt, context_window=source["context_window"]
        )
        if learnt
        else str(source["context_window"])
    )


def _place(source: dict[str, Any]) -> str:
    return str(source["base_url"] or source.get("path") or phrase("built in: small and slow"))


def _add_source(args: argparse.Namespace) -> int:
    if args.gguf and (args.base_url or args.preset):
        args.misused("a source is an address with a model, or a file: give --base-url and --model, or --gguf FILE")
    given = _file(args) if args.gguf else _endpoint(args)
    names = ("context_window", "priority", "max_concurrent", "tools", "vision", "audio")
    given |= {name: value for name in names if (value := getattr(args, name)) is not None}
    source = ask_or_open(args, "admin.models_add", name=args.name, **given)
    if args.json:
        as_json(source)
    else:
        keyless = "" if source["has_key"] or args.gguf else phrase(", without a key")
        print(
            phrase("{name} is in use{keyless}.", name=args.name, keyless=keyless)
            if source["current"]
            else phrase(
                "{name} is set up{keyless}. To use it: homed models use {name}", name=args.name, keyless=keyless
            )
        )
    return 0


def _file(args: argparse.Namespace) -> dict[str, Any]:
    # absolute: the daemon has another working folder
    return {"gguf": str(Path(args.gguf).expanduser().absolute()), "base_url": args.base_url, "model": args.model}


def _endpoint(args: argparse.Namespace) -> dict[str, Any]:
    key = args.api_key
    if key is None and sys.stdin.isatty():
        key = getpass.getpass(phrase("API key (Enter for none): ")) or None
    given = {"preset": args.preset, "base_url": args.base_url, "model": args.model, "adapter": args.adapter}
    given |= {"options": parsed(args.option)} if args.option else {}
    return given | ({"api_key": key} if key is not None else {})


def _adapters(args: argparse.Namespace) -> int:
    found = ask_or_open(args, "admin.models_adapters")["adapters"]
    if args.json:
        as_json(found)
        return 0
    rows = [(one["name"], one["origin"], ", ".join(one["sources"]) or "-", one["path"]) for one in found]
    table(rows, ("script", "origin", "used by", "file"))
    for one in found:
        if one["newer"]:
            print(clean(phrase("{name} was edited and is kept; the newer one is {newer}.", **one)))
        if one["error"]:
            print(
                clean(phrase("{name} cannot be loaded: {error}", name=one["name"], error=translated(one["error"]))),
                file=sys.stderr,
            )
    return 1 if any(one["error"] for one in found) else 0


def _record(args: argparse.Namespace) -> int:
    from homed.commands.recording import record  # only for those who want it

    return record(args)


def _replay(args: argparse.Namespace) -> int:
    from homed.commands.replay import replay  # only for those who want it

    return replay(args)


def _install(args: argparse.Namespace) -> int:
    paths = paths_of(args)
    paths.create()
    # beside a running daemon too: the file's name holds a whole, checked file at every moment
    path = Weights(paths.data / "models").ready(
        Telling(lambda line: print(translated(line), file=sys.stderr)), thorough=True
    )
    if args.json:
        as_json({"path": str(path), "model": MODEL})
    else:
        print(phrase("{MODEL} is in place and whole: {path}", MODEL=MODEL, path=path))
    return 0


def _use(args: argparse.Namespace) -> int:
    return _done(args, ask_or_open(args, "admin.models_use", name=args.name), "{name} answers from now on.")


def _remove(args: argparse.Namespace) -> int:
    return _done(args, ask_or_open(args, "admin.models_remove", name=args.name), "{name} is gone, and its key with it.")


def _done(args: argparse.Namespace, answer: Any, said: str) -> int:
    if args.json:
        as_json(answer)
    else:
        print(phrase(said, name=args.name))
    return 0


def _test(args: argparse.Namespace) -> int:
    result = ask_or_open(args, "admin.models_test", name=args.name)
    if args.json:
        as_json(result)
    elif result["ok"]:
        _told(args.name, result)
    else:
        said = phrase(
            "{name} did not answer: {error}\n  {hint}",
            name=args.name,
            error=translated(result["error"]),
            hint=translated(result["hint"]),
        )
        print(clean(said).rstrip(), file=sys.stderr)
    return 0 if result["ok"] else 1


def _told(name: str, result: dict[str, Any]) -> None:
    print(
        phrase(
            "{name} answered in {latency_ms:.0f} ms, whole in {total_ms:.0f} ms.",
            name=name,
            latency_ms=result["latency_ms"],
            total_ms=result["total_ms"],
        )
    )
    for word, flag in (
        ("streams", result["streaming"]), ("takes tools", result["tools"]), ("sees images", result["images"]),
        ("thinks aloud", result["reasoning"]), ("counts tokens", result["usage"]),
    ):  # fmt: skip
        print(f"  {phrase(word)}: {_mark(flag) or phrase('not asked')}")
    for note in result["notes"]:
        print(f"  {clean(translated(note))}")
    if result["error"]:
        print(f"  {clean(translated(result['error']))}")
