"""Which module answers which method, so that none is loaded before somebody asks for one of its own."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from typing import cast

import trio

from homed.api import porch
from homed.api.method import Method
from homed.loading import load

_NAMES = {
    "life": "core.restart core.busy core.tools_set core.schedule_set core.schedule_clear",
    "io": (
        "io.inject io.interrupt io.upload io.upload_cancel io.block io.wait io.results io.stop io.threads "
        "io.history io.event io.thread_rename io.thread_delete io.approvals io.approve"
    ),
    "doctor": "admin.doctor admin.memory_doctor",
    "admin": (
        "admin.status admin.threads admin.interrupt admin.plugins admin.plugin_start admin.plugin_stop "
        "admin.plugin_logs admin.link"
    ),
    "models": (
        "admin.models_list admin.models_presets admin.models_available admin.models_add admin.models_remove "
        "admin.models_use admin.models_test admin.models_adapters"
    ),
    "config": (
        "admin.config_get admin.config_set admin.config_unset admin.config_change admin.config_list "
        "admin.config_snapshots admin.config_rollback"
    ),
    "persona": "admin.persona_get admin.persona_set",
    "keys": "admin.keys_list admin.keys_add admin.keys_remove",
    "peers": "admin.peers_list admin.peers_role admin.rules_list admin.rules_remove",
    "jobs": "admin.jobs_list admin.jobs_runs admin.jobs_run admin.jobs_pause admin.jobs_resume admin.jobs_release",
    "usage": "admin.usage admin.usage_price_set admin.usage_price_remove",
    "tracker": (
        "tracker.begin tracker.add tracker.put tracker.finish tracker.plan tracker.get admin.tracker_list "
        "admin.tracker_show admin.tracker_diff admin.tracker_rollback admin.tracker_forget"
    ),
    "keeping": (
        "admin.memory_preview admin.memory_find admin.memory_forget admin.memory_export admin.memory_import "
        "admin.backup admin.backups admin.merges_list admin.merges_accept admin.merges_reject "
        "admin.merges_undo"
    ),
    "memory": "memory.explain memory.search",
    "records": (
        "memory.stats memory.records memory.record memory.injections memory.graph memory.cold "
        "memory.thresholds memory.edit memory.note memory.hide memory.restore memory.reinstate memory.combine "
        "memory.bring_back"
    ),
    "console": "admin.threshold_set admin.embedding_get admin.embedding_probe admin.embedding_set",
    "cold": "cold.query",
    "knowledge": "knowledge.search knowledge.list knowledge.read knowledge.add knowledge.remove",
    "textlog": "textlog.read",
    "llm": "llm.list llm.current llm.set llm.complete",
    "social": (
        "social.get_person social.list_persons social.get_trait social.get_relations social.get_network "
        "social.set_role social.set_name"
    ),
    "publish": "events.publish",
    "cross": "settings.get settings.list settings.set settings.change",
    "tools": "tools.call tools.list",
    "attach": "core.attach",
    "meta": "core.meta",
    "plugin_mgr": (
        "plugin_mgr.list plugin_mgr.review plugin_mgr.install plugin_mgr.remove plugin_mgr.reload "
        "plugin_mgr.enable plugin_mgr.disable plugin_mgr.grant plugin_mgr.info"
    ),
}
"""Module → its methods; kept equal to what is there by a test.  Those of the porch are loaded before all else."""

MODULES: Mapping[str, str] = {name: f"homed.api.{module}" for module, names in _NAMES.items() for name in names.split()}
"""Method → its module."""


class Table:
    """The methods that a plugin may call, each found where it is."""

    def __init__(self) -> None:
        self._loading = trio.Lock()

    async def find(self, name: str) -> Method:
        """The method of this name, which there is.  Who asked first for one of a module goes on first."""
        if (module := MODULES[name]) not in sys.modules or self._loading.locked():
            async with self._loading:  # in turn: two messages are taken in the order in which they came
                await load(module)
        return _methods(module)[name]


def whole() -> dict[str, Method]:
    """Every method, with all that answers them loaded; kept equal to ``wire.methods.TO_KERNEL`` by a test."""
    for module in set(MODULES.values()):
        import_module(module)
    return {**porch.METHODS, **{name: _methods(module)[name] for name, module in MODULES.items()}}


def _methods(module: str) -> Mapping[str, Method]:
    return cast(Mapping[str, Method], sys.modules[module].METHODS)
