"""Logging in and out.

A login link carries its secret in the fragment, which no browser sends; the page's script posts it.  The session is a
cookie that scripts cannot read.
"""

from __future__ import annotations

import time

from quart import Blueprint, Response, request

from homed.errors import Denied

from .context import Site, body, problem, reply, text, who


class LoginApi:
    """``/login``, ``/api/v1/login`` and ``/api/v1/logout``."""

    def __init__(self, site: Site) -> None:
        self._site = site

    def blueprint(self) -> Blueprint:
        """These routes."""
        made = Blueprint("login", __name__)
        made.add_url_rule("/login", "page", self.page)
        made.add_url_rule("/api/v1/login", "login", self.login, methods=["POST"])
        made.add_url_rule("/api/v1/logout", "logout", self.logout, methods=["POST"])
        return made

    async def page(self) -> Response:
        """The page that takes a link's secret or a password."""
        return await self._site.door()

    async def login(self) -> Response:
        """``{secret}`` of a link or ``{password}`` → the session cookie."""
        given = await body()
        secret = text(given, "secret", required=False)
        try:
            if secret:
                session = await self._site.kernel.call("auth.redeem", {"secret": secret})
            else:
                session = await self._site.kernel.call("auth.login", {"password": text(given, "password")})
        except Denied as error:
            return problem(401, error.code, error.message, error.hint)
        response = reply({"expires_at": session["expires_at"]})
        response.set_cookie(
            self._site.cookie,
            session["session"],
            max_age=max(0, int(session["expires_at"] - time.time())),
            path="/",
            httponly=True,
            samesite="Lax",
            secure=request.scheme == "https",
        )
        return response

    async def logout(self) -> Response:
        """End the session, here and in the kernel."""
        await self._site.kernel.call("auth.logout", {"session": who().session})
        response = reply({})
        response.delete_cookie(self._site.cookie, path="/")
        return response
