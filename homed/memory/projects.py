"""Which project something was said in: the key of the folder that was worked in.  Pure.

Only the key is kept, never the path.  Whoever sends the folder has looked it up and sends the root of its repository,
where there is one: the kernel looks at nobody's files.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import PurePosixPath

SLUG = 32
"""Characters of a folder's name in a key: enough to know it by."""


def key(cwd: str) -> str:
    """The key of an absolute path, '' for none and for the root of all; ValueError for one that is not absolute."""
    if not cwd:
        return ""
    path = PurePosixPath(cwd)
    if not path.is_absolute() or ".." in path.parts or not cwd.isprintable():
        raise ValueError(cwd)
    slug = re.sub(r"[^\w]+", "-", path.name.casefold()).strip("-")[:SLUG]
    digest = hashlib.sha256(str(path).encode("utf-8", "surrogatepass")).hexdigest()
    return f"{digest[:12]}-{slug}" if path.name else ""
