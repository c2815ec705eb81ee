"""The one error of the embedders."""

from __future__ import annotations

from homed.errors import Unavailable


class EmbedFailed(Unavailable):
    """No vectors this time: the process that makes them ended, the endpoint refused, the model cannot be loaded.

    Nothing of the texts is in it, and no key.  ``lasting``: asking again is of no use before somebody has changed
    something.
    """

    def __init__(self, message: str, *, hint: str = "", lasting: bool = False) -> None:
        super().__init__(message, hint=hint)
        self.lasting = lasting
