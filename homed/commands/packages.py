"""`homed plugin install …` and what else is done with plugins that people bring."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from homed.commands.actions import Actions
from homed.commands.output import as_json, clean, padded, when
from homed.commands.reach import ask
from homed.commands.saying import about_plugin, phrase, translated
from homed.errors import HomedError, InvalidInput, Unavailable, from_code

_WELL = ("ready", "lazy", "waiting", "starting", "disabled")
"""States after a change in which nothing is wrong."""


def register(actions: Actions) -> None:
    """Add the actions to `homed plugin`."""
    new = actions.add("install", _install, "install a package from a file or an https address", "./hello-0.1.0.hmap")
    new.add_argument("source", metavar="FILE|URL")
    new.add_argument("--grant", metavar="A,B", help="the capabilities it gets, and no others; asked for if left out")
    new.add_argument("--yes", "-y", action="store_true", help="ask nothing: install it with --grant, or with none")
    for name, handler, text in (
        ("info", _info, "everything about one plugin: what it offers, may do and came from"),
        ("enable", _change, "let a disabled plugin run again"),
        ("disable", _change, "end a plugin and let it not run until it is enabled"),
        ("reload", _change, "read a plugin's folder again and start what is there now"),
    ):
        action = actions.add(name, handler, text, "hello")
        action.add_argument("name", metavar="NAME")
        action.set_defaults(action=name)
    grant = actions.add("grant", _grant, "set what an external plugin may do", "hello io,events.notices")
    grant.add_argument("name", metavar="NAME")
    grant.add_argument("capabilities", metavar="A,B", nargs="?", help="all it gets from now on; shown if left out")
    grant.add_argument("--none", action="store_true", help="take everything back")
    remove = actions.add("remove", _remove, "end an external plugin and delete it", "hello")
    remove.add_argument("name", metavar="NAME")
    remove.add_argument("--delete-data", action="store_true", help="its settings, passwords, files and logs too")
    remove.add_argument("--yes", "-y", action="store_true", help="do not ask")
    pack = actions.add("pack", _pack, "pack a plugin's folder into a .hmap file", "./hello", json=False)
    pack.add_argument("dir", metavar="DIR")
    pack.add_argument("--out", metavar="FILE", help="the file; by default NAME-VERSION.hmap here")


def _install(args: argparse.Namespace) -> int:
    with _as_file(args.source) as (path, source):
        found = ask(args, "plugin_mgr.review", path=str(path))
        if not args.json:
            print(review_text(found))
        if found["refused"]:
            raise InvalidInput(found["refused"])
        grant = _granted(args, found)
        if grant is None:
            print(phrase("Nothing was installed."), file=sys.stderr)
            return 1
        given = {"path": str(path), "sha256": found["sha256"], "grant": grant, "source": source}
        return _after(args, ask(args, "plugin_mgr.install", **given))


def _granted(args: argparse.Namespace, found: dict[str, Any]) -> list[str] | None:
    """What it gets, asked for on a terminal; None: not to be installed."""
    wanted = [one for one in found["capabilities"] if one["allowed"]]
    kept = [one["name"] for one in wanted if one["granted"]]
    if args.grant is not None:
        kept = split(args.grant)
    elif not args.yes and _can_ask():
        kept += [
            one["name"]
            for one in wanted
            if not one["granted"]
            and _yes(phrase("Allow {name}? {what}", name=clean(one["name"]), what=clean(translated(one["what"]))))
        ]
    if args.yes:
        return kept
    if not _can_ask():
        raise InvalidInput(
            "Nobody is at a terminal to be asked.", hint="Say --yes, and with --grant A,B what it may do."
        )
    return (
        kept
        if _yes(phrase("Install {name} {version} so?", name=clean(found["name"]), version=clean(found["version"])))
        else None
    )


def review_text(found: dict[str, Any]) -> str:
    """A review for a person, nothing of it able to steer the terminal."""
    replaced = found["replaces"]
    lines = [f"{found['name']} {found['version']}: {found['description']}"]
    if replaced:
        lines.append(phrase("  replaces    {version} ({how}); its data and settings stay", **replaced))
    for label, key in (("by", "author"), ("license", "license"), ("home", "homepage"), ("runs", "entry")):
        if found[key]:
            lines.append(f"  {padded(phrase(label), 11)} {found[key]}")
    lines.append(phrase("  file        {files} files, {size} bytes, sha256 {sha256}", **found))
    lines += _parts(found)
    lines.append(phrase("  asks for"))
    for one in found["capabilities"]:
        state = (
            phrase("cannot have it") if not one["allowed"] else phrase("has it already" if one["granted"] else "new")
        )
        lines.append(f"    {one['name']} ({state}): {translated(one['what'])}")
    if not found["capabilities"]:
        lines.append(phrase("    nothing beyond its own tools and settings"))
    lines += [f"  ! {translated(text)}" for text in found["warnings"]]
    return clean("\n".join(" ".join(line.split("\n")) for line in lines))


def _parts(found: dict[str, Any]) -> list[str]:
    lines = [
        phrase("  tool        {name} ({class_})", name=tool["name"], class_=translated(tool["class"]))
        for tool in found["tools"]
    ]
    lines += [phrase("  stage       {stage}", stage=_stage(stage)) for stage in found["stages"]]
    for kind in ("inputs", "outputs", "cleaners"):
        if found[kind]:
            lines.append(f"  {padded(phrase(kind), 11)} {', '.join(found[kind])}")
    return lines


def _stage(stage: dict[str, Any]) -> str:
    """A stage handler in words: what passes it, when, and what its failure comes to."""
    every = phrase("every turn: it sees and can change what passes")
    where = phrase("calls of its own tools, nothing else") if stage["scope"] == "own-tools" else every
    closed = stage["on_failure"] == "closed"
    fails = phrase("what it should have checked is withheld") if closed else phrase("what it should have seen passes")
    return phrase(
        "{stage} ({scope}): {where}; order {order}; when it fails, {fails}",
        stage=stage["stage"],
        scope=stage["scope"],
        where=where,
        order=stage["order"],
        fails=fails,
    )


def _info(args: argparse.Namespace) -> int:
    found = ask(args, "plugin_mgr.info", name=args.name)
    if args.json:
        as_json(found)
        return 0
    about = found["description"]
    about = about_plugin(found["name"], about) if found["trust"] == "packaged" else about
    reason = phrase(": {text}", text=translated(found["reason"])) if found["reason"] else ""
    lines = [
        f"{found['name']} {found['version']}{phrase(': {text}', text=about)}",
        phrase("  state       {state}{reason}", state=phrase(found["state"]), reason=reason),
    ]
    lines.append(phrase("  from        {trust}", trust=phrase(found["trust"])))
    if came := found["package"]:
        lines.append(
            phrase(
                "  installed   {installed_at} from {source}, sha256 {sha256}",
                installed_at=when(came["installed_at"]),
                source=came["source"],
                sha256=came["sha256"],
            )
        )
    lines += [phrase("  wrong       {error}", error=translated(error)) for error in found["errors"]]
    if not found["errors"]:
        if found["needs"]:
            lines.append(phrase("  needs       {needs}", needs=", ".join(found["needs"])))
        lines += _parts(found)
        lines += [
            phrase("  may         {name}: {what}", name=one["name"], what=translated(one["what"]))
            for one in found["capabilities"]
            if one["granted"]
        ]
        lines += [
            phrase("  may not     {name}: {what}", name=one["name"], what=translated(one["what"]))
            for one in found["capabilities"]
            if not one["granted"]
        ]
        lines += [phrase("  setting     {key}", key=key) for key in found["settings"]]
    print(clean("\n".join(" ".join(line.split("\n")) for line in lines)))
    return 0


def _change(args: argparse.Namespace) -> int:
    return _after(args, ask(args, f"plugin_mgr.{args.action}", name=args.name))


def _grant(args: argparse.Namespace) -> int:
    if args.capabilities is None and not args.none:
        return _info(args)
    wanted = [] if args.none else split(args.capabilities)
    return _after(args, ask(args, "plugin_mgr.grant", name=args.name, capabilities=wanted))


def _remove(args: argparse.Namespace) -> int:
    what = phrase(
        " with its settings, passwords, files and logs" if args.delete_data else "; its data and settings stay"
    )
    if not args.yes:
        if not _can_ask():
            raise InvalidInput("Nobody is at a terminal to be asked.", hint="Say --yes.")
        if not _yes(phrase("Remove {name}{what}?", name=args.name, what=what)):
            return 1
    ask(args, "plugin_mgr.remove", name=args.name, keep_data=not args.delete_data)
    if args.json:
        as_json({"name": args.name, "removed": True, "kept_data": not args.delete_data})
    else:
        print(phrase("{name} is removed{what}.", name=args.name, what=what))
    return 0


def _after(args: argparse.Namespace, plugin: dict[str, Any]) -> int:
    if args.json:
        as_json(plugin)
    else:
        print(clean(translated(plugin["note"])))
    return 0 if plugin["state"] in _WELL else 1


def _pack(args: argparse.Namespace) -> int:
    return subprocess.call(_sdk("pack", args.dir, *(["--out", args.out] if args.out else [])))


@contextmanager
def _as_file(source: str) -> Iterator[tuple[Path, str]]:
    """A file on this machine, and where it came from in words that hold no secret."""
    if "://" not in source:
        yield Path(source).expanduser().resolve(), Path(source).name
        return
    with tempfile.TemporaryDirectory(prefix="homed-") as folder:
        Path(folder).chmod(0o711)  # the daemon may be another user
        path = Path(folder) / "package.hmap"
        done = subprocess.run(_sdk("fetch", source, str(path)), stdout=subprocess.PIPE, check=False)
        try:
            answer = json.loads(done.stdout)
        except ValueError:
            raise Unavailable("The download ended without an answer.") from None
        if done.returncode:
            raise _error(answer)
        path.chmod(0o644)
        yield path, str(answer["url"])


def _error(answer: dict[str, Any]) -> HomedError:
    return from_code(str(answer["code"]), str(answer["message"]), hint=str(answer["hint"]))


def _sdk(*words: str) -> Sequence[str]:
    """The kit is the SDK's, and the kernel does not import it: run it as the program it is."""
    return [sys.executable, "-m", "homed.sdk", *words]


def split(text: str) -> list[str]:
    """``a, b`` as a list."""
    return [part.strip() for part in text.split(",") if part.strip()]


def _can_ask() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _yes(question: str) -> bool:
    """Whether the person says so; anything but yes is no."""
    print(phrase("{question} [y/N] ", question=question), end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes", "是")
