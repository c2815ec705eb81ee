"""Settings of what one message may take: its size, its tool calls, the language of the answer."""

from __future__ import annotations

from homed.config.definitions.shape import Definition

LANGUAGE = "core.agent.language"
MAX_MESSAGE = "core.agent.max_message_bytes"
MAX_TOOL_CALLS = "core.agent.max_tool_calls"
GUEST_TOOL_CALLS = "core.agent.guest_tool_calls"
CHILDREN_MAX = "core.agent.children_max"
CHILDREN_DEPTH = "core.agent.children_depth"
STOP_PATIENCE = "core.agent.stop_patience"

AUTO = "auto"

_AGENT = "Conversation"

LIMITS: tuple[Definition, ...] = (
    Definition(
        LANGUAGE, "select", AUTO, "Language of the answers where no other is asked for; auto answers in that of the"
        " question.",
        "Language", _AGENT,
        options=(AUTO, "English", "中文", "Русский", "Deutsch", "Français", "Español", "Português", "日本語", "한국어"),
    ),
    Definition(
        MAX_MESSAGE, "int", 262_144, "Bytes of text that one message may have; more goes into a file.",
        "Message size", _AGENT, minimum=1000, maximum=524_288,
    ),
    Definition(
        CHILDREN_MAX, "int", 8, "Agents that agents may have at work or resident at once, for each person; 0: none.",
        "Agents", _AGENT, minimum=0, maximum=64,
    ),
    Definition(
        CHILDREN_DEPTH, "int", 1, "Levels of agents: 1 means that an agent which an agent made can make no more.",
        "Levels of agents", _AGENT, minimum=0, maximum=2,
    ),
    Definition(
        MAX_TOOL_CALLS, "int", 64, "Tool calls that one message may lead to; further ones are denied.",
        "Tool calls a message", _AGENT, minimum=1, maximum=1000,
    ),
    Definition(
        GUEST_TOOL_CALLS, "int", 8, "Tool calls that one message of a guest's may lead to.",
        "Tool calls of guests", _AGENT, minimum=0, maximum=100,
    ),
    Definition(
        STOP_PATIENCE, "duration", 5, "Seconds that running turns have to end by themselves when homed stops.",
        "Patience at a stop", _AGENT, minimum=0, maximum=10,
    ),
)  # fmt: skip
