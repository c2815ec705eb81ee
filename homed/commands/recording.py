"""`homed models record`: for developers, what sources are asked and answer as files that tests play back."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from homed.commands.output import as_json, clean, table
from homed.commands.place import paths_of
from homed.commands.reach import ask_or_open
from homed.commands.saying import phrase, translated
from homed.config.definitions import LLM_RECORD
from homed.errors import InvalidInput, NotFound, StorageError
from homed.providers.cassette import NAME, read


def record(args: argparse.Namespace) -> int:
    """Begin, end, list or show."""
    if args.name and not NAME.fullmatch(args.name):
        raise InvalidInput(f"{args.name!r} cannot be a recording's name.", hint="Use letters, digits, dots and dashes.")
    if args.show:
        return _show(args)
    if args.off or args.name:
        done = ask_or_open(args, "admin.config_set", key=LLM_RECORD, value="" if args.off else args.name)
        if args.json:
            as_json(done)
        else:
            print(
                phrase("Nothing is recorded any more.")
                if args.off
                else phrase("What sources say is added to {name}.jsonl.", name=args.name)
            )
        return 0
    return _list(args)


def _list(args: argparse.Namespace) -> int:
    """What there is, and what is added to now."""
    folder = paths_of(args).cassettes
    now = str(ask_or_open(args, "admin.config_get", key=LLM_RECORD)["value"])
    found = [_of(path) for path in sorted(folder.glob("*.jsonl"))] if folder.is_dir() else []
    if args.json:
        as_json({"recording": now, "folder": str(folder), "recordings": found})
        return 0
    if found:
        table(
            [
                ("*" if one["name"] == now else "", one["name"], translated(str(one["exchanges"])), one["bytes"])
                for one in found
            ],
            ("", "name", "exchanges", "bytes"),
        )
    else:
        print(phrase("There are no recordings in {folder}.", folder=folder))
    if now and now not in {one["name"] for one in found}:
        print(phrase("{now} begins with the next question to a source.", now=now))
    return 0


def _of(path: Path) -> dict[str, Any]:
    try:
        return {"name": path.stem, "exchanges": len(read(path)), "bytes": path.stat().st_size}
    except (InvalidInput, OSError) as error:
        return {"name": path.stem, "exchanges": f"unreadable: {error}", "bytes": 0}


def _show(args: argparse.Namespace) -> int:
    """What a recording would answer, in its order: that it can be played back is seen from its being read whole."""
    if not args.name:
        raise InvalidInput("Which recording?", hint="homed models record NAME --show")
    exchanges = recorded(args, args.name)
    if args.json:
        as_json(exchanges)
        return 0
    table([_row(one) for one in exchanges], ("source", "asked", "status", "pieces", "ended"))
    return 0


def recorded(args: argparse.Namespace, name: str) -> list[Mapping[str, Any]]:
    """The exchanges of a recording.  Raises InvalidInput, NotFound, StorageError."""
    if not NAME.fullmatch(name):
        raise InvalidInput(f"{name!r} cannot be a recording's name.", hint="Use letters, digits, dots and dashes.")
    path = paths_of(args).cassettes / f"{name}.jsonl"
    try:
        return read(path)
    except FileNotFoundError:
        raise NotFound(f"There is no recording {name}.", hint="`homed models record` lists them.") from None
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror}.", hint="Is it yours?") from None


def _row(one: Mapping[str, Any]) -> tuple[object, ...]:
    url = urlsplit(str(one.get("url", "")))
    asked = clean(f"{url.netloc}{url.path}")
    return clean(str(one.get("source"))), asked, one.get("status"), len(one.get("chunks") or ()), one.get("ended")
