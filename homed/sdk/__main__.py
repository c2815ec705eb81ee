"""``python -m homed.sdk``: the plugin author's tool."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

import trio

from homed.errors import HomedError
from homed.sdk.check import check
from homed.sdk.packing import packed
from homed.sdk.scaffold import LANGUAGES, explain, new, update_manifest


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return the exit code: 0 well, 1 something is wrong with the plugin, 2 wrong usage."""
    parser = argparse.ArgumentParser(prog="python -m homed.sdk", description="Write, check and pack plugins for homed.")
    commands = parser.add_subparsers(dest="command", required=True)
    writer = commands.add_parser("new", help="write a working plugin with its test")
    writer.add_argument("name", help="lower-case letters, digits and _")
    writer.add_argument("--dir", type=Path, default=Path(), help="where its folder goes (default: here)")
    writer.add_argument("--lang", choices=tuple(LANGUAGES), default="python", help="what it is written in")
    for name, text in (("check", "run the plugin and report what homed would object to"),
                       ("manifest", "bring plugin.json in step with the code")):  # fmt: skip
        commands.add_parser(name, help=text).add_argument("folder", type=Path, help="the plugin's folder")
    packer = commands.add_parser("pack", help="bring plugin.json in step and write NAME-VERSION.hmap")
    packer.add_argument("folder", type=Path, help="the plugin's folder")
    packer.add_argument("--out", type=Path, help="the file (default: NAME-VERSION.hmap here)")
    fetcher = commands.add_parser("fetch", help="download a package over https, as JSON on stdout")
    fetcher.add_argument("url")
    fetcher.add_argument("file", type=Path, help="the new file")
    options = parser.parse_args(arguments)
    try:
        return trio.run(_run, options)
    except HomedError as error:
        sys.stderr.write(explain(error) + "\n")
        return 1


def _next_steps(folder: Path, lang: str) -> str:
    """What to type next, with this very Python: another knows neither homed nor the plugin's imports."""
    python, place = shlex.quote(sys.executable), shlex.quote(str(folder))
    steps = [
        ("Its test (needs pytest):", f"{python} -m pytest {place}"),
        ("What homed would object to:", f"{python} -m homed.sdk check {place}"),
        ("To use it, with homed running:", f"{python} -m homed.sdk pack {place}"),
        ("", f"{python} -m homed plugin install {shlex.quote(folder.name)}-0.1.0.hmap"),
    ]
    if lang == "c":
        steps.insert(0, ("Build it:", f"make -C {place}"))
    told = "".join(f"{what}\n  {how}\n" if what else f"  {how}\n" for what, how in steps)
    return f"{folder} is a working plugin; its README.md says what is where.\n{told}"


async def _run(options: argparse.Namespace) -> int:
    if options.command == "new":
        folder = await new(options.name, options.dir, options.lang)
        sys.stdout.write(_next_steps(folder, options.lang))
        return 0
    if options.command == "pack":
        sys.stdout.write(await packed(options.folder, options.out))
        return 0
    if options.command == "fetch":
        from homed.sdk.download import download  # loads an HTTP client

        return await download(options.url, options.file)
    if options.command == "manifest":
        changed = await update_manifest(options.folder)
        sys.stdout.write(f"{options.folder}/plugin.json {'was brought in step' if changed else 'is in step'}.\n")
        return 0
    report = await check(options.folder)
    sys.stdout.write(report.text())
    return 0 if report.ok else 1


if __name__ == "__main__":
    sys.exit(main())
