"""``/v1``: homed as a model that programs talk to, as OpenAI's chat completions.  See docs/openai-api.md."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

import trio
from quart import Response

from homed.errors import NotFound

from . import v1_shape as shape
from .context import Site, reply

if TYPE_CHECKING:
    from . import asked_v1


class V1Api:
    """``chat/completions`` and ``models``."""

    def __init__(self, site: Site) -> None:
        self._site = site

    async def v1_models(self) -> Response:
        """The one model."""
        await trio.lowlevel.checkpoint()
        return reply({"object": "list", "data": [shape.model()]})

    async def v1_model(self, model: str) -> Response:
        """The model, also by the name with a thread, if the thread is there."""
        if thread := thread_of(model):
            await self._site.call("io.history", thread=thread, limit=1)
        return reply(shape.model(model))

    async def v1_chat(self, body: asked_v1.ChatCompletion) -> Response:
        """Answer the last message, whole or as a stream."""
        from .v1_answer import Answering  # no page needs it

        return await Answering(self._site).chat(body)


def thread_of(model: str) -> str:
    """The thread in a model's name; empty for none.  Raises NotFound for another model."""
    name, _, thread = model.partition(":")
    if name != shape.MODEL or (":" in model and not thread):
        _no_model(model)
    return thread


def _no_model(model: str) -> NoReturn:
    raise NotFound(
        f"There is no model {model[:80]!r}.",
        hint=f"It is {shape.MODEL!r}, or {shape.MODEL + ':THREAD'!r} to go on with a thread.",
        detail={"param": "model"},
    )
