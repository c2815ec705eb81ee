"""Answers to programs that speak OpenAI's API, whole and as streams.  Loaded with the first of them."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

import trio
from quart import Response, request
from quart.wrappers.response import ResponseBody

from homed.errors import HomedError, InvalidInput, NotFound, Unavailable

from . import v1_shape as shape
from .api_files import CANCEL_SECONDS, Sending
from .api_v1 import thread_of
from .bodies import BoundedRequest
from .context import STATUS, Site, Who, answer, problem, problem_of, reply, who
from .v1_run import CONTENT, Ended, Run
from .v1_said import Attached, Said, said, wrong

if TYPE_CHECKING:
    from types import TracebackType

    from . import asked_v1

THREAD_HEADER = "X-Homed-Thread"
ACCEPT_SECONDS = 12.0
"""How long the kernel may take to accept something, whoever hangs up meanwhile: else nobody could stop it."""
WAITING = 64
"""Pieces of a stream that wait for a slow reader."""


class Answering:
    """``chat/completions``."""

    def __init__(self, site: Site) -> None:
        self._site = site

    async def chat(self, body: asked_v1.ChatCompletion) -> Response:
        """Answer the last message, whole or as a stream."""
        person = who()
        named = thread_of(body.model)
        thread = request.headers.get(THREAD_HEADER, "")[:200] or named
        if named and thread != named:
            raise wrong("model", f"names another thread than {THREAD_HEADER}")
        self._site.limits.streams.check(person.account)
        new = await trio.to_thread.run_sync(said, body.messages, person.key)
        run = Run(self._site, person)
        assert isinstance(request._get_current_object(), BoundedRequest)  # type: ignore[attr-defined]
        request.at_end.append(run.leave)  # type: ignore[attr-defined]  # however this request ends
        await self._accept(run, person, body, new, thread)
        wants = bool(body.stream_options and body.stream_options.include_usage)
        form = shape.Form(f"chatcmpl-{run.input}", body.model, int(time.time()), usage=wants)
        if body.stream:
            return _head(_streamed(Live(self._site, run, form, person)), run)
        with self._site.limits.streams.slot(person.account):
            try:
                return _head(await self._whole(run, form), run)
            except HomedError as error:
                return _head(problem_of(error, self._site.lang()), run)

    async def _whole(self, run: Run, form: shape.Form) -> Response:
        told: dict[str, list[str]] = {}

        async def tell(kind: str, words: str) -> None:
            await trio.lowlevel.checkpoint()
            told.setdefault(kind, []).append(words)

        ended = await run.follow(tell)
        if failed := _failure(ended):
            response = problem(failed.status, failed.code, failed.message, failed.hint)
            if failed.retry_after:
                response.headers["Retry-After"] = str(failed.retry_after)
            return response
        thoughts = "".join(part for kind, parts in told.items() if kind != CONTENT for part in parts)
        text = "".join(told.get(CONTENT, ()))
        return reply(form.whole(text, thoughts, ended.calls, shape.usage(ended.usage, run.told)))

    async def _accept(self, run: Run, person: Who, body: asked_v1.ChatCompletion, new: Said, thread: str) -> None:
        """Give the kernel what is new.  Raises HomedError."""
        if new.results is not None:
            results = [{"call": call, "text": text} for call, text in new.results.items()]
            try:
                run.accepted(await self._ask(person, "io.results", {"results": results}), mine=True)
            except (InvalidInput, NotFound) as error:
                raise InvalidInput(error.message, hint=error.hint, detail={"param": "messages"}) from None
            return
        given: dict[str, object] = {"text": new.text, "place": new.place}
        given |= {"thread": thread} if thread else {}
        given |= {"client_tools": _tools(body), "client_parallel": body.parallel_tool_calls is not False}
        if must := _must(body):
            given["client_must"] = must
        if key := request.headers.get("Idempotency-Key", ""):
            given["client_msg_id"] = f"v1:{person.name}:{key}"[:200]
        sent = await self._send(person, new.files)
        if sent:
            given["attachments"] = sent
        made = await self._ask(person, "io.inject", given)
        run.accepted(made, mine=not made.get("duplicate"))

    async def _ask(self, person: Who, method: str, given: dict[str, object]) -> dict[str, Any]:
        try:
            with trio.fail_after(ACCEPT_SECONDS) as scope:
                scope.shield = True
                made: dict[str, Any] = await self._site.kernel.call(method, {"peer": person.peer, **given})
                return made
        except trio.TooSlowError:
            raise Unavailable("homed takes no messages now.", hint="Try again in a moment.") from None

    async def _send(self, person: Who, files: Sequence[Attached]) -> list[str]:
        """Upload what came with the message; the ids."""
        sent: list[str] = []
        for file in files:
            sending = Sending(self._site, person, file.name, file.media_type)
            try:
                await sending.more(file.data)
                sent.append(str((await sending.end())["upload"]))
            except BaseException:
                with trio.move_on_after(CANCEL_SECONDS, shield=True):
                    await sending.cancel()
                raise
        return sent


class Live(ResponseBody):
    """An answer as it is made, as server-sent events."""

    def __init__(self, site: Site, run: Run, form: shape.Form, person: Who) -> None:
        self._site, self._run, self._form, self._account = site, run, form, person.account
        self._held = AsyncExitStack()
        self._to, self._from = trio.open_memory_channel[bytes](WAITING)
        self._words = site.lang()

    async def __aenter__(self) -> AsyncIterator[bytes]:
        nursery = await self._held.enter_async_context(trio.open_nursery())
        nursery.start_soon(self._make)
        self._scope = nursery.cancel_scope
        return self._parts()

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_value: BaseException | None, tb: TracebackType | None
    ) -> None:
        self._scope.cancel()
        await self._held.aclose()

    async def _parts(self) -> AsyncIterator[bytes]:
        while True:
            piece: bytes | None = shape.BEAT
            with trio.move_on_after(self._site.heartbeat):
                piece = await self._next()
            if piece is None:
                return
            yield piece

    async def _next(self) -> bytes | None:
        try:
            return await self._from.receive()
        except trio.EndOfChannel:
            return None

    async def _make(self) -> None:
        async with self._to:
            try:
                with self._site.limits.streams.slot(self._account):
                    await self._answer()
            except HomedError as error:
                said_ = self._words.kernel.text(str(error))
                await self._to.send(shape.event(shape.error(STATUS.get(error.code, 500), error.code, said_)))

    async def _answer(self) -> None:
        send, form = self._to.send, self._form
        await send(form.chunk({"role": "assistant", "content": ""}))

        async def tell(kind: str, words: str) -> None:
            await send(form.chunk({kind: words}))

        ended = await self._run.follow(tell)
        if failed := _failure(ended):
            said_ = " ".join(filter(None, (failed.message, failed.hint)))
            await send(shape.event(shape.error(failed.status, failed.code, said_)))
            return
        for piece in form.calls(ended.calls):
            await send(piece)
        await send(form.chunk({}, shape.finish(ended.calls)))
        await send(form.last(shape.usage(ended.usage, self._run.told)))


def _tools(body: asked_v1.ChatCompletion) -> list[dict[str, object]]:
    if body.tool_choice == "none":
        return []
    functions = [tool.function for tool in body.tools or ()]
    return [
        {"name": one.name, "description": one.description or "", "parameters": one.parameters or {}}
        for one in functions
    ]


def _must(body: asked_v1.ChatCompletion) -> list[str]:
    """Functions one of which is to be called.  Raises for what is not offered."""
    choice, names = body.tool_choice, [tool.function.name for tool in body.tools or ()]
    if choice is None or choice in ("auto", "none"):
        return []
    wanted = names if isinstance(choice, str) else [choice.function.name]
    if not wanted or not set(wanted) <= set(names):
        raise wrong("tool_choice", "names no function of tools")
    return wanted


def _failure(ended: Ended) -> shape.Failure | None:
    """Of an answer that never came."""
    if ended.calls or ended.outcome.get("state") in ("answered", "stopped"):
        return None
    return shape.failure(ended.outcome)


def _head(response: Response, run: Run) -> Response:
    response.headers[THREAD_HEADER] = run.thread
    response.headers["x-should-retry"] = "false"  # it was accepted: again would be a second message
    return response


def _streamed(body: Live) -> Response:
    response = answer("", kind="text/event-stream; charset=utf-8")
    response.response = body
    del response.headers["Content-Length"]
    response.headers["X-Accel-Buffering"] = "no"
    response.timeout = None
    return response
