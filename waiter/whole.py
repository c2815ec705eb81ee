"""From the command line to the full screen, and to a homed elsewhere: what a question on this machine needs not."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from getpass import getpass

from homed.errors import HomedError

from .connections import KEY, Directory, NeedsKey
from .link import Link
from .messages import Dial
from .options import Options
from .words import Words, language_of


def directory(options: Options, environment: Mapping[str, str]) -> Directory:
    """The homeds that can be meant."""
    return Directory(environment, socket=options.socket, data=options.data, insecure=options.insecure)


def show(options: Options, environment: Mapping[str, str]) -> int:
    """The full screen; returns the exit status."""
    from .app import Start, run

    start = Start(
        Dial(options.connect, options.remote, _key(options)), options.thread, options.go_on,
        language_of(environment, options.lang), options.theme,
    )  # fmt: skip
    return run(start, directory(options, environment), environment)


def reach(options: Options, environment: Mapping[str, str], *, typed: bool) -> Callable[[], Link]:
    """How a homed by name or URL is dialled from a program without an event loop.

    A key that nobody knows is asked for on a terminal.  Raises InvalidInput and what `Directory.find` raises.
    """
    wanted = Dial(options.connect, options.remote, _key(options))
    known = directory(options, environment)
    try:
        target = known.find(wanted)
    except NeedsKey as error:
        if not typed:
            raise
        words = Words(language_of(environment, options.lang))
        target = known.find(Dial(wanted.name, wanted.url, getpass(words("remote.key", url=error.url) + " ").strip()))
    from .bridge import dial_remote

    return lambda: dial_remote(target)


def _key(options: Options) -> str:
    """The key of the command line; ``-`` is none."""
    return "" if options.api_key == "-" else options.api_key


def without_key(argv: Sequence[str], environment: Mapping[str, str]) -> None:
    """Begin again with the key in the environment, which nobody else can read, instead of on the command line.

    Returns only where there is nothing to hide.
    """
    kept, key, words = [], "", iter(argv)
    for word in words:
        if word == "--api-key":
            key = next(words, "")
        elif word.startswith("--api-key="):
            key = word.partition("=")[2]
        else:
            kept.append(word)
    if not key or key == "-":
        return
    try:
        os.execve(sys.executable, kept, {**environment, KEY: key})
    except OSError as error:
        raise HomedError(f"waiter cannot begin again: {error.strerror or error}.") from error
