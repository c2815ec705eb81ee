"""What a command may see of the environment: no secret, nothing of ours.  Pure."""

from __future__ import annotations

from collections.abc import Mapping

_KEPT = frozenset({"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TZ", "TMPDIR", "LANG", "XDG_RUNTIME_DIR"})
"""An allow list: a name that sounds harmless may still hold a key, so what is not known to be needed stays out."""

_KEPT_PREFIXES = ("LC_",)
_FALLBACK_PATH = "/usr/local/bin:/usr/bin:/bin"


def scrubbed(environment: Mapping[str, str]) -> dict[str, str]:
    """The part of ``environment`` a command gets; programs are told that nobody is at a terminal."""
    kept = {k: v for k, v in environment.items() if k in _KEPT or k.startswith(_KEPT_PREFIXES)}
    return {"PATH": _FALLBACK_PATH, **kept, "TERM": "dumb", "PAGER": "cat", "GIT_TERMINAL_PROMPT": "0"}
