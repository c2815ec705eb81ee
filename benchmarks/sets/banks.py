"""Where the banks of phrases lie."""

from __future__ import annotations

from pathlib import Path

CHINESE = Path(__file__).with_name("chinese.toml")
ENGLISH = Path(__file__).with_name("english.toml")
