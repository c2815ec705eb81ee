"""argv → a command → an exit code: 0 done, 1 failed with one clear line, 2 usage."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from homed.commands.output import complain
from homed.commands.parser import build
from homed.errors import HomedError


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    args = build().parse_args(argv)
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


if __name__ == "__main__":
    sys.exit(main())
