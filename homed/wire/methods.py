"""Every method that crosses the wire, and the capability a plugin needs for it.

Pure data: the kernel's dispatcher, the SDK's client, the documentation test and the contract test all read this one
table.  ``docs/wire.md`` describes parameters and results.
"""

from __future__ import annotations

HANDSHAKE = "handshake"
INIT = "plugin.init"
START = "plugin.start"
STOP = "plugin.stop"
PING = "plugin.ping"
TOOL_INVOKE = "tool.invoke"
STAGE_INVOKE = "stage.invoke"
OUTPUT_INVOKE = "output.invoke"
SCHEDULE_INVOKE = "schedule.invoke"
CANCEL = "$/cancel"
EVENT = "event"
EVENT_LOST = "event.lost"
SETTINGS_CHANGED = "settings.changed"

TO_PLUGIN = frozenset(
    {HANDSHAKE, INIT, START, STOP, PING, TOOL_INVOKE, STAGE_INVOKE, OUTPUT_INVOKE, SCHEDULE_INVOKE}
)  # fmt: skip

CORE = "core"
IO = "io"
NOTICES = "events.notices"
CONTENT = "events.content"
AUTH = "auth"
ADMIN = "admin"
MEMORY = "memory"
PLUGIN_MGR = "plugin_mgr"

CAPABILITIES = frozenset({CORE, IO, NOTICES, CONTENT, AUTH, ADMIN, MEMORY, PLUGIN_MGR})
PACKAGED_ONLY = frozenset({CONTENT, AUTH, ADMIN, MEMORY, PLUGIN_MGR})
"""Capabilities that no external plugin is ever granted."""

BINARY: dict[str, str] = {}
"""Method a plugin may call → its parameter that may come as bytes, by the arena."""

TO_KERNEL: dict[str, str] = {
    "core.log": CORE,
    "core.announce": CORE,
    "core.settings_get": CORE,
    "core.settings_set": CORE,
    "core.arena_alloc": CORE,
    "core.arena_free": CORE,
    "io.inject": IO,
    "io.upload": IO,
    "io.upload_cancel": IO,
    "io.block": IO,
    "io.wait": IO,
    "io.stop": IO,
    "io.threads": IO,
    "io.history": IO,
    "io.event": IO,
    "io.thread_rename": IO,
    "io.thread_delete": IO,
    "io.approvals": IO,
    "io.approve": IO,
    "events.subscribe": NOTICES,
    "memory.explain": MEMORY,
    "auth.state": AUTH,
    "auth.redeem": AUTH,
    "auth.login": AUTH,
    "auth.check": AUTH,
    "auth.key": AUTH,
    "auth.logout": AUTH,
    "admin.status": ADMIN,
    "admin.doctor": ADMIN,
    "admin.plugins": ADMIN,
    "admin.plugin_start": ADMIN,
    "admin.plugin_stop": ADMIN,
    "admin.plugin_logs": ADMIN,
    "admin.config_get": ADMIN,
    "admin.config_set": ADMIN,
    "admin.config_list": ADMIN,
    "admin.models_list": ADMIN,
    "admin.models_add": ADMIN,
    "admin.models_remove": ADMIN,
    "admin.models_use": ADMIN,
    "admin.models_test": ADMIN,
    "admin.link": ADMIN,
    "admin.keys_list": ADMIN,
    "admin.keys_add": ADMIN,
    "admin.keys_remove": ADMIN,
    "plugin_mgr.list": PLUGIN_MGR,
    "plugin_mgr.review": PLUGIN_MGR,
    "plugin_mgr.install": PLUGIN_MGR,
    "plugin_mgr.remove": PLUGIN_MGR,
    "plugin_mgr.reload": PLUGIN_MGR,
    "plugin_mgr.enable": PLUGIN_MGR,
    "plugin_mgr.disable": PLUGIN_MGR,
    "plugin_mgr.grant": PLUGIN_MGR,
    "plugin_mgr.info": PLUGIN_MGR,
}
"""Method a plugin may call → capability it needs."""
