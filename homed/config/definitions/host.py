"""Settings of how plugins are watched."""

from __future__ import annotations

from homed.config.definitions.shape import Definition

HANDSHAKE_LIMIT = "core.host.handshake_limit"
START_LIMIT = "core.host.start_limit"
PING_INTERVAL = "core.host.ping_interval"
PING_MISSES = "core.host.ping_misses"
SCHEDULE_LIMIT = "core.host.schedule_limit"
PLUGIN_LOG_BYTES = "core.host.log_bytes"

_HOST = "Plugins"

HOST: tuple[Definition, ...] = (
    Definition(
        HANDSHAKE_LIMIT, "duration", 10, "Seconds a plugin has to say its first word; then its start has failed.",
        "First word", _HOST, minimum=1, maximum=300,
    ),
    Definition(
        START_LIMIT, "duration", 30, "Seconds a plugin has from there to be ready.",
        "Start limit", _HOST, minimum=1, maximum=600,
    ),
    Definition(
        PING_INTERVAL, "duration", 15, "Seconds between two questions to a plugin whether it is still there.",
        "Ping", _HOST, minimum=2, maximum=3600,
    ),
    Definition(
        PING_MISSES, "int", 3, "Such questions without an answer after which it counts as hung and is started again.",
        "Missed pings", _HOST, minimum=1, maximum=100,
    ),
    Definition(
        SCHEDULE_LIMIT, "duration", 300, "Seconds that what a plugin does by a schedule may take.",
        "Schedule limit", _HOST, minimum=1, maximum=3600,
    ),
    Definition(
        PLUGIN_LOG_BYTES, "int", 1_000_000, "Bytes of a plugin's log, above which a new one is begun; one older one is"
        " kept.",
        "Log of a plugin", _HOST, minimum=10_000, maximum=100_000_000,
    ),
)  # fmt: skip
