"""What a check is given to look at."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeVar

from homed.errors import StorageError
from homed.failpoints import Failpoints, NoFailpoints
from homed.paths import Paths
from homed.redact import Redactor
from homed.store.rows import Damaged, Storage, Tx

if TYPE_CHECKING:
    from homed.config.definitions import Definition
    from homed.jobs.proof import ScrubbingStore
    from homed.memory.ports import Embedder
    from homed.retrieval.vectors.texts import Source

T = TypeVar("T")


class Vectors(Protocol):
    """What a running daemon has over its tables of vectors."""

    @property
    def embedder(self) -> Embedder | None:
        """The one in use; None: none now."""
        ...

    async def remake(self, folders: Collection[str]) -> int:
        """Throw away these indexes (names of folders) and have them made anew; how many there were."""
        ...

    async def forget_now(self, scope: str) -> int:
        """No file holds a vector of this scope any more that was deleted."""
        ...

    async def texts(self, sources: Sequence[Source]) -> Sequence[str]:
        """What the embedder is given of each of these."""
        ...

    def wake(self) -> None:
        """There is something new to make vectors of."""
        ...


class Gentle:
    """A ``Storage`` for looking at what may be broken: a text that is none is an error of that read alone.

    The store takes it for damage and becomes read-only; to look must change nothing, and to mend it one must write.
    """

    def __init__(self, store: Storage) -> None:
        self._store = store

    async def read(self, fn: Callable[[Tx], T]) -> T:
        """See ``Storage``."""
        return await self._store.read(_gently(fn))

    async def write(self, fn: Callable[[Tx], T]) -> T:
        """See ``Storage``."""
        return await self._store.write(_gently(fn))

    async def empty_log(self) -> bool:
        """See ``Storage``."""
        return await self._store.empty_log()


def _gently(fn: Callable[[Tx], T]) -> Callable[[Tx], T]:
    def run(tx: Tx) -> T:
        try:
            return fn(tx)
        except Damaged as error:
            if not isinstance(error.__cause__, UnicodeDecodeError):
                raise
            raise StorageError(
                "A text in the database is not UTF-8.", hint="Look at the checks of texts.", detail={"reason": "text"}
            ) from error

    return run


def _no_definitions() -> Sequence[Definition]:
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """``deep``: read everything, and open the originals.  ``now``: UTC seconds.  ``redactor``: knows the keys that are
    set here.  ``vectors``: None on a stopped folder.  ``running``: a daemon works on the folder meanwhile; ``local``:
    readers keep nobody from storing; ``looking``: the store takes nothing.  ``busy``: the jobs that run now.
    ``scrub``: the store, where what is free in its file can be overwritten.
    """

    store: Storage
    paths: Paths
    now: float
    redactor: Redactor
    deep: bool = False
    running: bool = False
    local: bool = True
    looking: bool = False
    vectors: Vectors | None = None
    definitions: Callable[[], Iterable[Definition]] = _no_definitions
    busy: Callable[[], Collection[str]] = tuple
    scrub: ScrubbingStore | None = None
    failpoints: Failpoints = field(default_factory=NoFailpoints)
