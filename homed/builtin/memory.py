"""Every tool over memory."""

from __future__ import annotations

from dataclasses import replace

from homed.agent.ports import BuiltinTool
from homed.builtin.coldcontext import ColdQuery, coldcontext_commit, coldcontext_query, named
from homed.builtin.memory_look import memory_doctor, memory_injections, memory_stats
from homed.builtin.memory_merge import memory_block_merge, memory_merge
from homed.builtin.memory_note import memory_forget, memory_note
from homed.builtin.memory_open import memory_list, memory_open
from homed.builtin.memory_recall import memory_recall
from homed.builtin.memory_tidy import memory_delete_entity, memory_purge
from homed.builtin.memory_write import memory_commit, memory_edit
from homed.builtin.people import people_tools
from homed.builtin.ports import MemoryPorts

ROOMY = 24_000
"""Tokens of a window from which on a model is told of the tools that it seldom needs: they take some 1 700."""


def memory_tools(ports: MemoryPorts) -> tuple[BuiltinTool, ...]:
    """The tools on this memory."""
    query = coldcontext_query(ColdQuery(ports.store, ports.wall, ports.failpoints, ports.ranker))
    commit = coldcontext_commit()
    stats = memory_stats(ports)
    seldom = (
        commit, memory_edit(ports), memory_purge(ports), memory_delete_entity(ports), memory_merge(ports),
        memory_block_merge(ports), memory_open(ports), memory_note(ports), memory_list(ports), memory_forget(ports),
        memory_injections(ports), stats, memory_doctor(ports), *people_tools(ports),
    )  # fmt: skip
    found = (
        query,
        memory_recall(ports),
        memory_commit(ports),
        *(replace(tool, least=ROOMY) for tool in seldom),
        named(query, "doc_query"),
        named(commit, "doc_commit"),
        named(stats, "memory_introspect"),
    )
    people = {tool.entry.name for tool in seldom if tool.entry.name.startswith("person_")}
    return tuple(replace(tool, group="people" if tool.entry.name in people else "memory") for tool in found)
