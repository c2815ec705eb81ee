"""Versions that two ends compare before they talk."""

from __future__ import annotations

PROTOCOL = 1
"""The plugin protocol.  Raised when an old SDK could misread a new kernel, or the other way round."""

CORE = "0.1.0"
"""The version of homed; kept equal to pyproject's by a test."""

MAX_LINE = 1 << 20
"""Bytes in one JSON-RPC line, newline included."""
