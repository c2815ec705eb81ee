"""Settings of the model sources."""

from __future__ import annotations

import re

from homed.config.definitions.shape import Definition

LLM_SOURCES = "core.llm.sources"
LLM_CURRENT = "core.llm.current"
LLM_EMBEDDED = "core.llm.embedded"
LLM_FALLBACK = "core.llm.fallback"
CONNECT_TIMEOUT = "core.llm.connect_timeout"
FIRST_BYTE_TIMEOUT = "core.llm.first_byte_timeout"
IDLE_TIMEOUT = "core.llm.idle_timeout"
DEFAULT_WINDOW = "core.llm.default_window"
SNAPSHOTS_KEPT = "core.llm.snapshots_kept"
LEARNT_WINDOWS = "core.models.learnt"
"""Not below core.llm: no person changes it, so no snapshot of the model settings is kept for it."""

LLM_RECORD = "core.models.record"

_MODELS = "Models"


def _recording(text: str) -> bool:
    return not text or bool(re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", text))


MODELS: tuple[Definition, ...] = (
    Definition(
        LLM_SOURCES, "list", [], "The model sources, without their keys; edited with `homed models` or on the page.",
        "Sources", _MODELS, hidden=True,
    ),
    Definition(
        LLM_CURRENT, "string", "", "Name of the source in use; empty means the first one.",
        "Current source", _MODELS, hidden=True,
    ),
    Definition(
        LLM_EMBEDDED, "bool", True, "Offer the small built-in model; it answers while no other source is set up.",
        "Built-in model", _MODELS,
    ),
    Definition(
        LLM_FALLBACK, "bool", True, "When the source in use does not answer, ask the others you have set up: by"
        " priority, the highest first, then as they were added. What is said then goes to them.",
        "Other sources stand in", _MODELS,
    ),
    Definition(
        DEFAULT_WINDOW, "int", 32_768, "Tokens of the window of a source for which none is given when it is added.",
        "Window", _MODELS, minimum=1024, maximum=10_000_000,
    ),
    Definition(
        SNAPSHOTS_KEPT, "int", 20, "Earlier states of the settings of the models that can be brought back.",
        "Ways back", _MODELS, minimum=1, maximum=200,
    ),
    Definition(
        CONNECT_TIMEOUT, "duration", 10, "Seconds a connection to a model source may take to open.",
        "Connect limit", _MODELS, minimum=0.1, maximum=300,
    ),
    Definition(
        FIRST_BYTE_TIMEOUT, "duration", 60, "Seconds a model source may take to begin its answer.",
        "First byte limit", _MODELS, minimum=0.1, maximum=3600,
    ),
    Definition(
        IDLE_TIMEOUT, "duration", 60, "Seconds an answer that has begun may pause.",
        "Idle limit", _MODELS, minimum=0.1, maximum=3600,
    ),
    Definition(
        LLM_RECORD, "string", "", "For developers: the name of a recording in DATA/cassettes to which everything that"
        " sources are asked and answer is added, secrets taken out. Empty: none. Forgetting removes recordings.",
        "Recording", _MODELS, fits=_recording, wanted="must have letters, digits, dots and dashes, 64 at most",
        restart=True,
    ),
    Definition(
        LEARNT_WINDOWS, "list", [], "Windows that sources turned out to have when they refused what was too long; kept"
        " by homed, and forgotten when the source's model or window is changed.",
        "Learnt windows", _MODELS, hidden=True,
    ),
)  # fmt: skip
