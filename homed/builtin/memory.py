"""Every tool over memory."""

from __future__ import annotations

from homed.agent.ports import BuiltinTool
from homed.builtin.coldcontext import ColdQuery, coldcontext_commit, coldcontext_query, named
from homed.builtin.memory_tidy import memory_delete_entity, memory_purge
from homed.builtin.memory_write import memory_commit, memory_edit
from homed.builtin.ports import MemoryPorts


def memory_tools(ports: MemoryPorts) -> tuple[BuiltinTool, ...]:
    """The tools on this memory."""
    query = coldcontext_query(ColdQuery(ports.store, ports.wall, ports.failpoints, ports.ranker))
    commit = coldcontext_commit()
    return (
        query,
        commit,
        named(query, "doc_query"),
        named(commit, "doc_commit"),
        memory_commit(ports),
        memory_edit(ports),
        memory_purge(ports),
        memory_delete_entity(ports),
    )
