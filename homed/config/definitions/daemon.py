"""Settings of the daemon itself: the page's password, the log."""

from __future__ import annotations

from homed.config.definitions.shape import Definition

WEB_PASSWORD = "core.web.password"
LOG_LEVEL = "core.log.level"

DAEMON: tuple[Definition, ...] = (
    Definition(
        WEB_PASSWORD, "password", "", "Password of the web page; a login link (`homed link`) works without one.",
        "Web password", "Security", hidden=True, hashed=True,
    ),
    Definition(
        LOG_LEVEL, "select", "info", "How much goes to the log.",
        "Log level", "Logging", options=("debug", "info", "warning", "error"),
    ),
)  # fmt: skip
