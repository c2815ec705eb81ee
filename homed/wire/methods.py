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
CLEANER_INVOKE = "cleaner.invoke"
SCHEDULE_INVOKE = "schedule.invoke"
TRACKER_RESTORE = "tracker.restore"
CANCEL = "$/cancel"
EVENT = "event"
EVENT_LOST = "event.lost"
SETTINGS_CHANGED = "settings.changed"

TO_PLUGIN = frozenset(
    {
        HANDSHAKE, INIT, START, STOP, PING, TOOL_INVOKE, STAGE_INVOKE, OUTPUT_INVOKE, CLEANER_INVOKE, SCHEDULE_INVOKE,
        TRACKER_RESTORE,
    }
)  # fmt: skip

CORE = "core"
IO = "io"
CRITICAL = "io.critical"
"""No method of its own: with it an interrupt of level 4 counts as that, and not as 3."""
NOTICES = "events.notices"
CONTENT = "events.content"
AUTH = "auth"
ADMIN = "admin"
MEMORY = "memory"
MEMORY_WRITE = "memory.write"
PLUGIN_MGR = "plugin_mgr"
COLD = "cold"
KNOWLEDGE = "knowledge"
TEXTLOG = "textlog"
LLM = "llm"
SOCIAL_READ = "social.read"
SOCIAL_WRITE = "social.write"
PUBLISH = "events.publish"
SETTINGS_CROSS = "settings_cross"
TOOLS = "tools"
TRACKER = "tracker"

PACKAGED_ONLY = frozenset(
    {
        CRITICAL, CONTENT, PUBLISH, SOCIAL_WRITE, MEMORY_WRITE, PLUGIN_MGR, SETTINGS_CROSS, TOOLS, TRACKER, AUTH, ADMIN,
    }
)  # fmt: skip
"""Capabilities that no external plugin is ever granted."""

CAPABILITIES = PACKAGED_ONLY | {CORE, IO, MEMORY, COLD, KNOWLEDGE, TEXTLOG, LLM, SOCIAL_READ, NOTICES}

BINARY: dict[str, str] = {"core.attach": "data"}
"""Method a plugin may call → its parameter that may come as bytes, by the arena."""

TO_KERNEL: dict[str, str] = {
    "core.log": CORE,
    "core.announce": CORE,
    "core.settings_get": CORE,
    "core.settings_set": CORE,
    "core.meta": CORE,
    "core.arena_alloc": CORE,
    "core.arena_free": CORE,
    "core.restart": CORE,
    "core.busy": CORE,
    "core.tools_set": CORE,
    "core.attach": CORE,
    "core.schedule_set": CORE,
    "core.schedule_clear": CORE,
    "io.inject": IO,
    "io.interrupt": IO,
    "io.upload": IO,
    "io.upload_cancel": IO,
    "io.block": IO,
    "io.wait": IO,
    "io.results": IO,
    "io.stop": IO,
    "io.threads": IO,
    "io.history": IO,
    "io.event": IO,
    "io.thread_rename": IO,
    "io.thread_delete": IO,
    "io.approvals": IO,
    "io.approve": IO,
    "events.subscribe": NOTICES,
    "events.publish": PUBLISH,
    "memory.explain": MEMORY,
    "memory.search": MEMORY,
    "memory.stats": MEMORY,
    "memory.records": MEMORY,
    "memory.record": MEMORY,
    "memory.injections": MEMORY,
    "memory.graph": MEMORY,
    "memory.cold": MEMORY,
    "memory.thresholds": MEMORY,
    "memory.edit": MEMORY_WRITE,
    "memory.note": MEMORY_WRITE,
    "memory.hide": MEMORY_WRITE,
    "memory.restore": MEMORY_WRITE,
    "memory.reinstate": MEMORY_WRITE,
    "memory.combine": MEMORY_WRITE,
    "memory.bring_back": MEMORY_WRITE,
    "cold.query": COLD,
    "knowledge.search": KNOWLEDGE,
    "knowledge.list": KNOWLEDGE,
    "knowledge.read": KNOWLEDGE,
    "knowledge.add": KNOWLEDGE,
    "knowledge.remove": KNOWLEDGE,
    "textlog.read": TEXTLOG,
    "llm.list": LLM,
    "llm.current": LLM,
    "llm.set": LLM,
    "llm.complete": LLM,
    "social.get_person": SOCIAL_READ,
    "social.list_persons": SOCIAL_READ,
    "social.get_trait": SOCIAL_READ,
    "social.get_relations": SOCIAL_READ,
    "social.get_network": SOCIAL_READ,
    "social.set_role": SOCIAL_WRITE,
    "social.set_name": SOCIAL_WRITE,
    "settings.get": SETTINGS_CROSS,
    "settings.list": SETTINGS_CROSS,
    "settings.set": SETTINGS_CROSS,
    "settings.change": SETTINGS_CROSS,
    "tools.call": TOOLS,
    "tools.list": TOOLS,
    "tracker.begin": TRACKER,
    "tracker.add": TRACKER,
    "tracker.put": TRACKER,
    "tracker.finish": TRACKER,
    "tracker.plan": TRACKER,
    "tracker.get": TRACKER,
    "auth.state": AUTH,
    "auth.redeem": AUTH,
    "auth.login": AUTH,
    "auth.check": AUTH,
    "auth.key": AUTH,
    "auth.logout": AUTH,
    "admin.status": ADMIN,
    "admin.doctor": ADMIN,
    "admin.memory_doctor": ADMIN,
    "admin.threads": ADMIN,
    "admin.interrupt": ADMIN,
    "admin.plugins": ADMIN,
    "admin.plugin_start": ADMIN,
    "admin.plugin_stop": ADMIN,
    "admin.plugin_logs": ADMIN,
    "admin.config_get": ADMIN,
    "admin.config_set": ADMIN,
    "admin.config_list": ADMIN,
    "admin.config_unset": ADMIN,
    "admin.config_change": ADMIN,
    "admin.config_snapshots": ADMIN,
    "admin.config_rollback": ADMIN,
    "admin.persona_get": ADMIN,
    "admin.persona_set": ADMIN,
    "admin.models_list": ADMIN,
    "admin.models_presets": ADMIN,
    "admin.models_available": ADMIN,
    "admin.models_add": ADMIN,
    "admin.models_remove": ADMIN,
    "admin.models_use": ADMIN,
    "admin.models_test": ADMIN,
    "admin.models_adapters": ADMIN,
    "admin.link": ADMIN,
    "admin.keys_list": ADMIN,
    "admin.keys_add": ADMIN,
    "admin.keys_remove": ADMIN,
    "admin.peers_list": ADMIN,
    "admin.peers_role": ADMIN,
    "admin.rules_list": ADMIN,
    "admin.rules_remove": ADMIN,
    "admin.memory_preview": ADMIN,
    "admin.memory_find": ADMIN,
    "admin.memory_forget": ADMIN,
    "admin.memory_export": ADMIN,
    "admin.memory_import": ADMIN,
    "admin.backup": ADMIN,
    "admin.backups": ADMIN,
    "admin.threshold_set": ADMIN,
    "admin.embedding_get": ADMIN,
    "admin.embedding_probe": ADMIN,
    "admin.embedding_set": ADMIN,
    "admin.merges_list": ADMIN,
    "admin.merges_accept": ADMIN,
    "admin.merges_reject": ADMIN,
    "admin.merges_undo": ADMIN,
    "admin.jobs_list": ADMIN,
    "admin.jobs_runs": ADMIN,
    "admin.jobs_run": ADMIN,
    "admin.jobs_pause": ADMIN,
    "admin.jobs_resume": ADMIN,
    "admin.jobs_release": ADMIN,
    "admin.usage": ADMIN,
    "admin.usage_price_set": ADMIN,
    "admin.usage_price_remove": ADMIN,
    "admin.tracker_list": ADMIN,
    "admin.tracker_show": ADMIN,
    "admin.tracker_diff": ADMIN,
    "admin.tracker_rollback": ADMIN,
    "admin.tracker_forget": ADMIN,
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

_OWN = frozenset({CORE, NOTICES, AUTH, ADMIN, TRACKER})
ON_BEHALF = frozenset(method for method, needed in TO_KERNEL.items() if needed not in _OWN)
"""Methods that a plugin calls back within an invocation, on its behalf: there they carry its call token."""
