"""The names of the kernel's own tools, apart from the tools: they are reserved before anything of theirs is loaded."""

from __future__ import annotations

from homed.host.registry import OUTPUT_PREFIX, Reserved

MEMORY = (
    "coldcontext_query", "coldcontext_commit", "doc_query", "doc_commit", "memory_recall", "memory_open",
    "memory_note", "memory_list", "memory_forget", "memory_injections", "memory_stats", "memory_introspect",
    "memory_doctor", "memory_commit", "memory_edit", "memory_merge", "memory_block_merge", "memory_purge",
    "memory_delete_entity", "person_query", "person_list", "person_set_trait", "person_relate", "person_network",
)  # fmt: skip
"""Those over memory."""

AGENTS = ("spawn_child", "child_result", "resident_agents")
"""Those by which an agent makes agents."""

RESERVED = Reserved(frozenset({"result_read", "get_plugin_tools", *MEMORY, *AGENTS}), (OUTPUT_PREFIX,))
"""The names of the tools here and of those that outputs are: no plugin's tool may have one of them."""
