"""Searches a folder for lines that match; runs as a program of its own, because a regular expression cannot be stopped.

    python -I searcher.py < request.json > answer.json

The folder is the current one.  Links are not followed.  Standard library only; it knows nothing of the plugin.
"""

from __future__ import annotations

import fnmatch
import json
import os
import re
import stat
import sys
from collections.abc import Iterator, Mapping

MAX_FILE = 4 << 20
MAX_FILES = 20_000
MAX_LINE = 400
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def files(glob: str) -> Iterator[tuple[str, int]]:
    """Every regular file below the current folder as (path, open descriptor), hidden folders left out, by name."""
    for folder, folders, names, fd in os.fwalk(".", follow_symlinks=False):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = os.path.normpath(os.path.join(folder, name))
            if glob and not (fnmatch.fnmatch(path, glob) or fnmatch.fnmatch(name, glob)):
                continue
            try:
                if not stat.S_ISREG(os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode):
                    continue  # only to open a pipe would already set free whoever waits to write to it
                opened = os.open(name, _READ, dir_fd=fd)
            except OSError:
                continue  # a link, or not ours to read
            if stat.S_ISREG(os.fstat(opened).st_mode):
                yield path, opened
            else:
                os.close(opened)


def printable(path: str) -> str:
    """A file name that can stand in JSON."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def text(data: bytes) -> str:
    """The text of a file for looking at: UTF-8, else the Chinese national encoding, else with escapes."""
    for encoding in ("utf-8", "gb18030"):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    return data.decode("utf-8", "backslashreplace")


def search(pattern: re.Pattern[str], glob: str, limit: int) -> dict[str, object]:
    """Matching lines as ``{path, line, text}``, at most ``limit``; ``more`` says that something was left out."""
    matches: list[dict[str, object]] = []
    seen = skipped = 0
    for path, fd in files(glob):
        seen += 1
        with os.fdopen(fd, "rb") as file:
            data = file.read(MAX_FILE + 1)
        if len(data) > MAX_FILE or b"\0" in data[:8192]:
            skipped += 1
        else:
            for number, line in enumerate(text(data).split("\n"), 1):
                if pattern.search(line):
                    matches.append({"path": printable(path), "line": number, "text": line[:MAX_LINE].rstrip("\r")})
                    if len(matches) > limit:
                        return {"matches": matches[:limit], "files": seen, "skipped": skipped, "more": True}
        if seen >= MAX_FILES:
            return {"matches": matches, "files": seen, "skipped": skipped, "more": True}
    return {"matches": matches, "files": seen, "skipped": skipped, "more": False}


def answer(request: Mapping[str, object]) -> dict[str, object]:
    """Run one request ``{pattern, regex, ignore_case, glob, limit}``; a bad expression is ``{error}``."""
    written = str(request["pattern"])
    flags = re.IGNORECASE if request["ignore_case"] else 0
    try:
        pattern = re.compile(written if request["regex"] else re.escape(written), flags)
    except re.error as error:
        return {"error": f"The regular expression is wrong: {error}."}
    return search(pattern, str(request["glob"]), int(str(request["limit"])))


def main() -> None:
    """Read the request from stdin, write the answer to stdout."""
    json.dump(answer(json.load(sys.stdin)), sys.stdout)


if __name__ == "__main__":
    main()
