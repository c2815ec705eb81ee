"""Settings of the daemon itself: the page's password, the log."""

from __future__ import annotations

from homed.config.definitions.shape import Definition

WEB_PASSWORD = "core.web.password"
SESSION_LIFETIME = "core.web.session_lifetime"
FREE_TRIES = "core.web.free_tries"
LOG_LEVEL = "core.log.level"
LOG_BYTES = "core.log.file_bytes"
LOG_FILES = "core.log.files_kept"

DAEMON: tuple[Definition, ...] = (
    Definition(
        WEB_PASSWORD, "password", "", "Password of the web page; a login link (`homed link`) works without one.",
        "Web password", "Security", hidden=True, hashed=True,
    ),
    Definition(
        SESSION_LIFETIME, "duration", 86_400, "Seconds after which a login ends; those that are open keep their end.",
        "Login", "Security", minimum=60, maximum=31_536_000,
    ),
    Definition(
        FREE_TRIES, "int", 5, "Wrong passwords in a row after which each further try has to wait.",
        "Free tries", "Security", minimum=1, maximum=100,
    ),
    Definition(
        LOG_LEVEL, "select", "info", "How much goes to the log.",
        "Log level", "Logging", options=("debug", "info", "warning", "error"),
    ),
    Definition(
        LOG_BYTES, "int", 5_000_000, "Bytes of the log, above which a new one is begun.",
        "Log size", "Logging", minimum=10_000, maximum=1_000_000_000,
    ),
    Definition(
        LOG_FILES, "int", 3, "Older logs that are kept.",
        "Logs kept", "Logging", minimum=1, maximum=100,
    ),
)  # fmt: skip
