"""argv → a command → an exit code: 0 done, 1 failed with one clear line, 2 usage."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from homed.commands.output import complain
from homed.commands.run import read_start
from homed.errors import HomedError


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    given = sys.argv[1:] if argv is None else argv
    args = read_start(given) or _read(given)
    try:
        return int(args.handler(args))
    except HomedError as error:
        complain(error)
        return 1
    except BrokenPipeError:  # `homed plugin logs x | head`: the reader has enough
        sys.stderr.close()
        return 0
    except KeyboardInterrupt:
        return 130


def _read(argv: Sequence[str]) -> argparse.Namespace:
    from homed.commands.parser import build  # every command, which the daemon's start does not wait for

    return build().parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
