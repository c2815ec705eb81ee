"""Every setting of the kernel: its key, type, default and what it does.

One table; the settings registry, ``homed.toml``, the environment, the page's form and ``docs/config.md`` all read it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from homed.config.zone import zone_named

TYPES = ("string", "text", "int", "float", "bool", "duration", "password", "select", "list")
"""``text`` is a string of several lines; ``duration`` is seconds, or "90s", "5m", "1h30m"; ``list`` is a JSON array."""


@dataclass(frozen=True, slots=True)
class Definition:
    """One setting.

    ``minimum``/``maximum`` bound int, float and duration (seconds).  ``options`` belong to ``select``.  ``hashed`` is
    for a password that is only ever checked: its scrypt hash is stored, never the text; other passwords go to the
    secrets file.  ``fits`` says of a string whether it may be the value, ``wanted`` what it must be.  ``restart``: a
    change takes effect at the next start.  ``hidden`` keys have an editor of their own.
    """

    key: str
    type: str
    default: object
    description: str
    name: str = ""
    category: str = ""
    hidden: bool = False
    options: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    hashed: bool = False
    restart: bool = False
    fits: Callable[[str], bool] | None = None
    wanted: str = ""

    @property
    def secret(self) -> bool:
        """True when the value must never be shown."""
        return self.type == "password"


MAX_TOOL_TURNS = "core.agent.max_tool_turns"
PROTECTED_EVENTS = "core.agent.protected_events"
MAX_CONTEXT_SIZE = "core.agent.max_context_size"
TOOL_TIMEOUT = "core.agent.tool_timeout"
RESULT_LIMIT = "core.agent.result_limit"
APPROVAL_TIMEOUT = "core.agent.approval_timeout"
PERSONA = "core.agent.persona"
TIME_ZONE = "core.agent.time_zone"
STAGE_TIMEOUT = "core.agent.stage_timeout"
RECALL_PERCENT = "core.memory.recall_percent"
RECALL_DEADLINE = "core.memory.recall_deadline"
INJECT_MIN_SCORE = "core.memory.inject_min_score"
FUSION = "core.memory.fusion"
EMBEDDING = "core.memory.embedding"
EMBEDDING_FOLDER = "core.memory.embedding_folder"
EMBEDDING_BASE_URL = "core.memory.embedding_base_url"
EMBEDDING_MODEL = "core.memory.embedding_model"
EMBEDDING_DIMENSIONS = "core.memory.embedding_dimensions"
EMBEDDING_API_KEY = "core.memory.embedding_api_key"
EMBEDDING_KEY_FILE = "core.memory.embedding_api_key_file"
EMBEDDING_BASELINE = "core.memory.embedding_baseline"
EMBEDDING_MODEL_PATH = "core.agent.embedding_model_path"
DISTIL_IDLE = "core.memory.distil_idle"
DISTIL_ACCESSES = "core.memory.distil_accesses"
DISTIL_CALLS = "core.memory.distil_max_calls_per_hour"
EXTRACT_ENABLED = "core.memory.extract_enabled"
EXTRACT_SOURCE = "core.memory.extract_source"
EXTRACT_MIN_TURN = "core.memory.extract_min_turn_chars"
EXTRACT_MAX_TRANSCRIPT = "core.memory.extract_max_transcript_chars"
EXTRACT_MAX_TOKENS = "core.memory.extract_max_tokens"
NIGHT_HOUR = "core.memory.night_hour"
BACKUPS_KEPT = "core.memory.backups_kept"
LEDGER_DAYS = "core.memory.ledger_days"
LLM_SOURCES = "core.llm.sources"
LLM_CURRENT = "core.llm.current"
LLM_EMBEDDED = "core.llm.embedded"
CONNECT_TIMEOUT = "core.llm.connect_timeout"
FIRST_BYTE_TIMEOUT = "core.llm.first_byte_timeout"
IDLE_TIMEOUT = "core.llm.idle_timeout"
WEB_PASSWORD = "core.web.password"
LOG_LEVEL = "core.log.level"

_AGENT = "Conversation"
_MEMORY = "Memory"
_MODELS = "Models"

CORE: tuple[Definition, ...] = (
    Definition(
        MAX_TOOL_TURNS, "int", 10, "Model calls in one turn before it must answer without tools.",
        "Steps a turn", _AGENT, minimum=1, maximum=100,
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
        PERSONA, "text", "", "Who the assistant is and how it speaks; put before every conversation.",
        "Persona", _AGENT,
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
    Definition(
        RECALL_PERCENT, "int", 0, "Percent of a prompt's room that recalled memories may fill; 0 means a third.",
        "Room for memories", _MEMORY, minimum=0, maximum=90,
    ),
    Definition(
        RECALL_DEADLINE, "duration", 1.2, "Seconds that remembering may take before a turn goes on with what is there.",
        "Recall time limit", _MEMORY, minimum=0.05, maximum=30,
    ),
    Definition(
        INJECT_MIN_SCORE, "float", 0.12, "How relevant, from 0 to 1, a cold memory must be to be shown to the model"
        " unasked.",
        "Relevance threshold", _MEMORY, minimum=0, maximum=1,
    ),
    Definition(
        FUSION, "select", "sum", "How what words find and what vectors find is made one ranking: sum adds how relevant"
        " each says a memory is, which measures best; rrf adds 1 / (60 + rank), as the original system did.",
        "Fusion", _MEMORY, options=("sum", "rrf"),
    ),
    Definition(
        EMBEDDING, "select", "auto", "What makes the vectors that memories are found by: auto takes what is set up"
        " below (an endpoint, a model folder, word vectors), else the built-in one; tfidf needs no model; off finds by"
        " words alone. Another one makes all vectors anew, in the background.",
        "Embeddings", _MEMORY, options=("auto", "bundled", "folder", "static", "endpoint", "tfidf", "off"),
    ),
    Definition(
        EMBEDDING_FOLDER, "string", "", "Folder with an ONNX text model (model.onnx and tokenizer.json) and perhaps an"
        " image model beside it; empty means models/chinese-clip-vit-b16-onnx in the data folder, if it is there.",
        "Embedding model folder", _MEMORY,
    ),
    Definition(
        EMBEDDING_MODEL_PATH, "string", "", "Files of word vectors (.vec, .txt, also .gz), separated by commas:"
        " ConceptNet Numberbatch, or the aligned cc.zh. and cc.en. of fastText.",
        "Word vectors", _MEMORY,
    ),
    Definition(
        EMBEDDING_BASE_URL, "string", "", "Base URL of an OpenAI-compatible API with /embeddings; what is remembered is"
        " sent there.",
        "Embedding endpoint", _MEMORY,
    ),
    Definition(EMBEDDING_MODEL, "string", "", "Name of the endpoint's embedding model.", "Embedding model", _MEMORY),
    Definition(
        EMBEDDING_DIMENSIONS, "int", 0, "Dimensions to ask the endpoint for; 0 means the model's own.",
        "Embedding dimensions", _MEMORY, minimum=0, maximum=8192,
    ),
    Definition(EMBEDDING_API_KEY, "password", "", "Key of the embedding endpoint.", "Embedding API key", _MEMORY),
    Definition(
        EMBEDDING_KEY_FILE, "string", "", "File whose first line is that key, where none is set; readable by you alone"
        " (0600).",
        "Embedding API key file", _MEMORY,
    ),
    Definition(
        EMBEDDING_BASELINE, "float", 0.0, "Cosine of two texts that have nothing to do with each other, in the model in"
        " use; 0 means as measured for the built-in one, 0.22 for others.",
        "Embedding baseline", _MEMORY, minimum=0, maximum=0.95,
    ),
    Definition(
        DISTIL_IDLE, "duration", 259_200, "Seconds that a cold memory must have been left alone before lasting facts"
        " are made of it and it goes to the archive, where it is evidence.",
        "Left alone for", _MEMORY, minimum=3600, maximum=31_536_000,
    ),
    Definition(
        DISTIL_ACCESSES, "int", 2, "How often a cold memory may have been looked at within 30 days and still go to the"
        " archive.",
        "Looked at", _MEMORY, minimum=0, maximum=1000,
    ),
    Definition(
        DISTIL_CALLS, "int", 60, "How often an hour a model may be asked in the background; 0 means never: then rules"
        " alone make facts.",
        "Background calls an hour", _MEMORY, minimum=0, maximum=10_000,
    ),
    Definition(
        EXTRACT_ENABLED, "bool", True, "Have a model make facts of conversations in the background; off, rules do.",
        "Facts by a model", _MEMORY,
    ),
    Definition(
        EXTRACT_SOURCE, "string", "", "Name of the model source for background work; empty means the one in use. The"
        " built-in model is never asked.",
        "Background model", _MEMORY,
    ),
    Definition(
        EXTRACT_MIN_TURN, "int", 60, "Characters below which a turn is small talk: no summary is made of it, and for"
        " facts it is read together with others.",
        "Small talk", _MEMORY, minimum=0, maximum=10_000,
    ),
    Definition(
        EXTRACT_MAX_TRANSCRIPT, "int", 12_000, "Characters of a conversation that one background question holds; of a"
        " longer turn its beginning and its end.",
        "Transcript size", _MEMORY, minimum=1000, maximum=200_000,
    ),
    Definition(
        EXTRACT_MAX_TOKENS, "int", 1400, "Tokens of a background answer at the most.",
        "Background answer size", _MEMORY, minimum=200, maximum=4096,
    ),
    Definition(
        NIGHT_HOUR, "int", 3, "The hour, by your clock, at half past which the database is looked after and a backup is"
        " made.",
        "Night", _MEMORY, minimum=0, maximum=23,
    ),
    Definition(
        BACKUPS_KEPT, "int", 7, "Nightly backups that are kept; 0 means that none are made.",
        "Backups kept", _MEMORY, minimum=0, maximum=365,
    ),
    Definition(
        LEDGER_DAYS, "int", 90, "Days for which it is kept what each turn was shown and why; of older ones `homed"
        " context explain` knows nothing more.",
        "Ledger kept", _MEMORY, minimum=1, maximum=3650,
    ),
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
        WEB_PASSWORD, "password", "", "Password of the web page; a login link (`homed link`) works without one.",
        "Web password", "Security", hidden=True, hashed=True,
    ),
    Definition(
        LOG_LEVEL, "select", "info", "How much goes to the log.",
        "Log level", "Logging", options=("debug", "info", "warning", "error"),
    ),
)  # fmt: skip
