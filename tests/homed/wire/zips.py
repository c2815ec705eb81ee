"""Zips, good and hostile."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path

MANIFEST = {"name": "hello", "version": "1.0", "entry": "python __main__.py", "description": "Says hello."}


def manifest(**more: object) -> bytes:
    """The bytes of a ``plugin.json``."""
    return json.dumps({**MANIFEST, **more}).encode()


def info(name: str, mode: int = 0o100644, method: int = zipfile.ZIP_DEFLATED) -> zipfile.ZipInfo:
    """An entry as Unix packs it."""
    made = zipfile.ZipInfo(name)
    made.create_system, made.external_attr, made.compress_type = 3, mode << 16, method
    return made


def sums(files: Mapping[str, bytes]) -> bytes:
    """The list of hashes."""
    return "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in files.items()).encode()


def packed(path: Path, files: Mapping[str, bytes], *, listed: bytes | None = None) -> Path:
    """A package of these files with its list, or another one."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(info(name), data)
        archive.writestr(info("SHA256SUMS"), sums(files) if listed is None else listed)
    return path


def good(path: Path, **more: object) -> Path:
    """One that can be opened; ``more`` are fields of its manifest."""
    return packed(path, {"plugin.json": manifest(**more), "__main__.py": b"print('hi')\n", "lib/a.py": b"A = 1\n"})


def raw(*entries: tuple[zipfile.ZipInfo, bytes]) -> bytes:
    """A zip of exactly these entries; `zipfile` warns of doubles and writes them."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for entry, data in entries:
            archive.writestr(entry, data)
    return out.getvalue()
