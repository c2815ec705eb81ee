"""Settings of conversations: the turn, its tools, its stages."""

from __future__ import annotations

from homed.config.definitions.shape import Definition, Seed
from homed.config.zone import zone_named

MAX_TOOL_TURNS = "core.agent.max_tool_turns"
REPEAT_CALLS = "core.agent.repeat_calls"
PROTECTED_EVENTS = "core.agent.protected_events"
MAX_CONTEXT_SIZE = "core.agent.max_context_size"
TOOL_TIMEOUT = "core.agent.tool_timeout"
RESULT_LIMIT = "core.agent.result_limit"
APPROVAL_TIMEOUT = "core.agent.approval_timeout"
PERSONA = "core.agent.persona"
PERSONA_ASKED = "core.agent.persona_asked"
TIME_ZONE = "core.agent.time_zone"
STAGE_TIMEOUT = "core.agent.stage_timeout"
TOOLS_ALWAYS = "core.agent.tools_always"
TOOLS_BUDGET = "core.agent.tools_budget"

_AGENT = "Conversation"

AGENT: tuple[Definition, ...] = (
    Definition(
        MAX_TOOL_TURNS, "int", 10, "Model calls in one turn before it must answer without tools.",
        "Steps a turn", _AGENT, minimum=1, maximum=100,
    ),
    Definition(
        REPEAT_CALLS, "int", 3, "Times in one turn that a tool is called with the same arguments and gives the same"
        " result; from then on such calls are refused, and after three of those the turn must answer.",
        "Same call", _AGENT, minimum=1, maximum=100,
    ),
    Definition(
        PROTECTED_EVENTS, "int", 10, "Newest events of a conversation that go to the model whatever they are about;"
        " fewer where a small model has no room.",
        "Protected events", _AGENT, minimum=1, maximum=200,
    ),
    Definition(
        MAX_CONTEXT_SIZE, "int", 30, "Most events, of all conversations, shown to the model in one turn; past twice as"
        " many the least relevant leave the window for cold memory.",
        "Events in view", _AGENT, minimum=2, maximum=1000,
    ),
    Definition(
        # what no answer should have to ask for first: memory, the rest of what was cut, looking at files, commands
        TOOLS_ALWAYS, "string",
        "result_read memory_recall memory_commit coldcontext_query skill_load cmd_run files_read files_ls files_search",
        "Tools that every request describes, by name, the most important first; others when they were used lately, or"
        " are asked for.",
        "Tools always there", _AGENT,
    ),
    Definition(
        TOOLS_BUDGET, "int", 9000, "Bytes of tool descriptions that a conversation begins with: those always there,"
        " then those used lately; if all fit, all. Tools that are asked for may take three times as much besides. Of a"
        " small model's window tools get a quarter.",
        "Room for tools", _AGENT, minimum=0, maximum=1_000_000,
    ),
    Definition(
        TOOL_TIMEOUT, "duration", 60, "Seconds a tool may run when it declares no limit of its own.",
        "Tool time limit", _AGENT, minimum=1, maximum=3600,
    ),
    Definition(
        RESULT_LIMIT, "int", 32_000, "Bytes of a tool's result shown to the model; of longer ones, head and tail.",
        "Result size", _AGENT, minimum=1000, maximum=1_000_000,
    ),
    Definition(
        APPROVAL_TIMEOUT, "duration", 300, "Seconds a question for permission waits before it counts as no.",
        "Approval time limit", _AGENT, minimum=5, maximum=86_400,
    ),
    Definition(
        PERSONA, "text", "", "Who the assistant is and how it speaks; put before every conversation. {version} and"
        " {date} stand for homed's version and today. A file persona.md in the data folder is stronger.",
        "Persona", _AGENT,
    ),
    Definition(
        PERSONA_ASKED, "bool", False, "That a persona was chosen at the beginning, or that it was put off.",
        "Persona chosen", _AGENT, hidden=True,
        seed=Seed(fresh=False, old=True),  # whoever has talked already is not asked who it should be
    ),
    Definition(
        TIME_ZONE, "string", "", "Your time zone, like Europe/Berlin, in which a night is a night; empty means the"
        " machine's.",
        "Time zone", _AGENT,
        fits=lambda name: not name.strip() or zone_named(name.strip()) is not None,
        wanted="must be the name of a time zone, like Europe/Berlin, or empty",
    ),
    Definition(
        STAGE_TIMEOUT, "duration", 10, "Seconds one plugin's handler of a stage may take.",
        "Stage time limit", _AGENT, minimum=1, maximum=120,
    ),
)  # fmt: skip
