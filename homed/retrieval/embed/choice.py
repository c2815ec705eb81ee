"""Which embedder the settings ask for.  Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from homed.config.definitions import (
    EMBEDDING,
    EMBEDDING_API_KEY,
    EMBEDDING_BASE_URL,
    EMBEDDING_BASELINE,
    EMBEDDING_DIMENSIONS,
    EMBEDDING_FOLDER,
    EMBEDDING_KEY_FILE,
    EMBEDDING_MODEL,
    EMBEDDING_MODEL_PATH,
)

DEFAULT_FOLDER = "chinese-clip-vit-b16-onnx"
"""Below ``models`` in the data folder: looked for when no folder is set."""

KEYS = frozenset(
    {
        EMBEDDING, EMBEDDING_API_KEY, EMBEDDING_BASELINE, EMBEDDING_BASE_URL, EMBEDDING_DIMENSIONS, EMBEDDING_FOLDER,
        EMBEDDING_KEY_FILE, EMBEDDING_MODEL, EMBEDDING_MODEL_PATH,
    }
)  # fmt: skip
"""A change of one of these may mean another embedder."""


# the methods named after the types hide these names in the signatures of the class
_Int = int
_Float = float
_Str = str


class Readable(Protocol):
    """What is read of the settings."""

    def str(self, key: _Str) -> _Str: ...

    def int(self, key: _Str) -> _Int: ...

    def float(self, key: _Str) -> _Float: ...


@dataclass(frozen=True, slots=True)
class Bundled:
    """The one that came along."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A model in ``path``."""

    path: Path


@dataclass(frozen=True, slots=True)
class Static:
    """Word vectors in these files."""

    files: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An OpenAI-compatible API.  ``dims`` 0: whatever it gives.  ``key_file``: where the key is, unless one is set."""

    base_url: str
    model: str
    dims: int
    key: str = field(default="", repr=False)
    key_file: str = ""


@dataclass(frozen=True, slots=True)
class Tfidf:
    """Hashed words, without any model."""


@dataclass(frozen=True, slots=True)
class Off:
    """None: memories are found by their words."""


Source = Bundled | Folder | Static | Endpoint | Tfidf | Off


@dataclass(frozen=True, slots=True)
class Choice:
    """What is wanted, first what is best, and what is taken where that cannot be used.

    A service that is away for an hour is waited for: all memories would get other vectors for nothing.
    """

    name: str
    sources: tuple[Source, ...]
    baseline: float | None = None


def choose(settings: Readable, models: Path, exists: Callable[[Path], bool]) -> Choice:
    """The choice; ``models`` is where the default folder may be, ``exists`` asks whether a folder is there.

    ``auto`` takes what was set up: an endpoint, else a folder, else word vectors, else the bundled one.
    """
    wanted = settings.str(EMBEDDING)
    endpoint, folder = _endpoint(settings), _folder(settings, models)
    static = Static(tuple(Path(name.strip()) for name in settings.str(EMBEDDING_MODEL_PATH).split(",") if name.strip()))
    if wanted == "auto":
        wanted = _found(settings, endpoint, folder, static, exists)
    sources: dict[str, tuple[Source, ...]] = {
        "endpoint": (endpoint,),
        "folder": (folder, Bundled(), Tfidf()),
        "static": (static, Bundled(), Tfidf()),
        "bundled": (Bundled(), Tfidf()),
        "tfidf": (Tfidf(),),
        "off": (Off(),),
    }
    return Choice(wanted, sources[wanted], settings.float(EMBEDDING_BASELINE) or None)


def _found(
    settings: Readable, endpoint: Endpoint, folder: Folder, static: Static, exists: Callable[[Path], bool]
) -> str:
    if endpoint.base_url and endpoint.model:
        return "endpoint"
    if settings.str(EMBEDDING_FOLDER).strip() or exists(folder.path):
        return "folder"
    return "static" if static.files else "bundled"


def _folder(settings: Readable, models: Path) -> Folder:
    named = settings.str(EMBEDDING_FOLDER).strip()
    return Folder(Path(named).expanduser() if named else models / DEFAULT_FOLDER)


def _endpoint(settings: Readable) -> Endpoint:
    return Endpoint(
        settings.str(EMBEDDING_BASE_URL).strip().rstrip("/"),
        settings.str(EMBEDDING_MODEL).strip(),
        settings.int(EMBEDDING_DIMENSIONS),
        settings.str(EMBEDDING_API_KEY).strip(),
        settings.str(EMBEDDING_KEY_FILE).strip(),
    )
