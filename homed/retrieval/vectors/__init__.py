"""The vectors of everything remembered: kept in rows, searched exactly or by an index, never across scopes or spaces.

Only the rows are memory.  Whatever else there is (matrices, files below ``DATA/vectors``) is made from them, may vanish
at any time, and is never believed over them: a search asks the caller's own transaction about each of its finds.

Importing it loads numpy (0.1 s): a start does so in a thread, beside everything else.
"""

from homed.retrieval.vectors.counts import Counts, counts
from homed.retrieval.vectors.search import Vectors

__all__ = ["Counts", "Vectors", "counts"]
