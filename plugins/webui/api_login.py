"""Logging in and out.

A login link carries its secret in the fragment, which no browser sends; the page's script posts it.  The session is a
cookie that scripts cannot read.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from quart import Response, request

from homed.errors import Denied

from .context import Site, problem, reply, who

if TYPE_CHECKING:
    from . import asked


class LoginApi:
    """``login`` and ``logout``; and the page where people come in."""

    def __init__(self, site: Site) -> None:
        self._site = site

    async def page(self) -> Response:
        """The page that takes a link's secret or a password."""
        return await self._site.door()

    async def login(self, body: asked.Login) -> Response:
        """``{secret}`` of a link or ``{password}`` → the session cookie."""
        try:
            if body.secret:
                session = await self._site.kernel.call("auth.redeem", {"secret": body.secret})
            else:
                session = await self._site.kernel.call("auth.login", {"password": body.password})
        except Denied as error:
            self._site.limits.guesses.take(request.remote_addr or "")
            return problem(401, error.code, error.message, error.hint)
        response = reply({"expires_at": session["expires_at"]})
        response.set_cookie(
            self._site.cookie,
            session["session"],
            max_age=max(0, int(session["expires_at"] - time.time())),
            path="/",
            httponly=True,
            samesite="Lax",
            secure=_encrypted(),
        )
        return response

    async def logout(self) -> Response:
        """End the session, here and in the kernel."""
        await self._site.kernel.call("auth.logout", {"session": who().session})
        response = reply({})
        response.delete_cookie(self._site.cookie, path="/")
        return response


def _encrypted() -> bool:
    """Whether the person's browser speaks TLS: to this server, or to a proxy before it, which its Origin shows."""
    return request.scheme == "https" or request.headers.get("Origin", "").startswith("https://")
