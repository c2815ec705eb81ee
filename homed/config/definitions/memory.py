"""Settings of memory: what is shown, how it is found, what becomes of it in the background."""

from __future__ import annotations

from urllib.parse import urlsplit

from homed.config.definitions.shape import Definition

RECALL_PERCENT = "core.memory.recall_percent"
RECALL_DEADLINE = "core.memory.recall_deadline"
INJECT_MIN_SCORE = "core.memory.inject_min_score"
INJECT_ENABLED = "core.memory.inject_enabled"
INJECT_SUBAGENTS = "core.memory.inject_subagents"
INJECT_MAX_CHARS = "core.memory.inject_max_chars"
INJECT_SUMMARIES = "core.memory.inject_summaries"
INJECT_FACTS = "core.memory.inject_facts"
INJECT_CAPSULES = "core.memory.inject_capsules"
ACTIVE_WINDOW = "core.memory.active_window_enabled"
ACTIVE_ITEMS = "core.memory.active_window_max_items"
ACTIVE_CHARS = "core.memory.active_window_max_chars"
ACTIVE_IMPORTANCE = "core.memory.active_window_min_importance"
FUSION = "core.memory.fusion"
RRF_CONSTANT = "core.memory.rrf_rank_constant"
QUERY_TIMEOUT = "core.memory.query_embedding_timeout_ms"
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
SOURCE_EXCERPT = "core.memory.source_excerpt_max_chars"
MAX_SUMMARIES = "core.memory.max_summaries"
MAX_FACTS = "core.memory.max_facts"
MAX_CAPSULES = "core.memory.max_capsules"
NIGHT_HOUR = "core.memory.night_hour"
BACKUPS_KEPT = "core.memory.backups_kept"
LEDGER_DAYS = "core.memory.ledger_days"

_MEMORY = "Memory"


def _address(text: str) -> bool:
    """Whether it opens nothing by itself: an address is shown to whoever looks, what opens it belongs to the key."""
    try:
        parts = urlsplit(text.strip())
    except ValueError:
        return False
    return not ("@" in parts.netloc or parts.query or parts.fragment)


MEMORY: tuple[Definition, ...] = (
    Definition(
        RECALL_PERCENT, "int", 0, "Percent of a prompt's room that recalled memories may fill; 0 means a third.",
        "Room for memories", _MEMORY, minimum=0, maximum=90,
    ),
    Definition(
        RECALL_DEADLINE, "duration", 1.2, "Seconds that remembering may take before a turn goes on with what is there.",
        "Recall time limit", _MEMORY, minimum=0.05, maximum=30,
    ),
    Definition(
        INJECT_MIN_SCORE, "float", 0.12, "How relevant, from 0 to 1, a memory must be to be shown to the model unasked;"
        " lower, and what merely shares a word with a message is told with it.",
        "Relevance threshold", _MEMORY, minimum=0, maximum=1,
    ),
    Definition(
        INJECT_ENABLED, "bool", True, "Tell the model, before each message, what is known that the message is about."
        " Off, it is told what is known only when it looks.",
        "Recall by itself", _MEMORY,
    ),
    Definition(
        INJECT_SUBAGENTS, "bool", False, "Tell it to agents that agents make, too. Off, what these need is in what they"
        " are given to do, or they look.",
        "Recall for sub-agents", _MEMORY,
    ),
    Definition(
        INJECT_MAX_CHARS, "int", 1400, "Characters of all that is told so before one message, with its heading; more"
        " crowds the context and delays the first word.",
        "Recalled characters", _MEMORY, minimum=200, maximum=8000,
    ),
    Definition(
        INJECT_SUMMARIES, "int", 2, "Summaries of turns among it, at the most.",
        "Recalled summaries", _MEMORY, minimum=1, maximum=20,
    ),
    Definition(
        INJECT_FACTS, "int", 5, "Facts among it, at the most.", "Recalled facts", _MEMORY, minimum=1, maximum=20
    ),
    Definition(
        INJECT_CAPSULES, "int", 3, "Capsules (profiles, projects, threads, open loops) among it, at the most.",
        "Recalled capsules", _MEMORY, minimum=1, maximum=20,
    ),
    Definition(
        ACTIVE_WINDOW, "bool", True, "Tell what is most important whatever a message is about (the Active Window).",
        "Active Window", _MEMORY,
    ),
    Definition(
        ACTIVE_ITEMS, "int", 2, "Records in the Active Window, at the most.",
        "Active Window: records", _MEMORY, minimum=1, maximum=20,
    ),
    Definition(
        ACTIVE_CHARS, "int", 420, "Characters of the Active Window, kept free before all else; more, and what always"
        " stands there outweighs the question.",
        "Active Window: characters", _MEMORY, minimum=80, maximum=4000,
    ),
    Definition(
        ACTIVE_IMPORTANCE, "int", 7, "Importance from which on a record may stand in the Active Window; lower, and what"
        " hardly matters is carried along.",
        "Active Window: importance", _MEMORY, minimum=1, maximum=10,
    ),
    Definition(
        FUSION, "select", "sum", "How what words find and what vectors find is made one ranking: sum adds how relevant"
        " each says a memory is, which measures best; rrf adds 1 / (constant + rank), as the original system did.",
        "Fusion", _MEMORY, options=("sum", "rrf"),
    ),
    Definition(
        RRF_CONSTANT, "int", 60, "The constant of rrf; less, and the first few of one channel decide alone.",
        "Constant of rrf", _MEMORY, minimum=1, maximum=1000,
    ),
    Definition(
        QUERY_TIMEOUT, "int", 1200, "Milliseconds that the vector of a question may take before it is looked for by"
        " words alone; more, and a slow endpoint delays every answer.",
        "Patience with embeddings", _MEMORY, minimum=50, maximum=10_000,
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
        "Embedding endpoint", _MEMORY, fits=_address,
        wanted="must be an address without a password or a query; what opens it is given as the API key",
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
        SOURCE_EXCERPT, "int", 1600, "Characters of one quote that is kept as evidence; more, and the database swells"
        " with copies of what was said.",
        "Size of quotes", _MEMORY, minimum=80, maximum=8000,
    ),
    Definition(
        MAX_SUMMARIES, "int", 2000, "Summaries of one person or group, at the most; above, those of the least worth"
        " go.",
        "Summaries kept", _MEMORY, minimum=1, maximum=1_000_000,
    ),
    Definition(
        MAX_FACTS, "int", 3000, "Facts of one person or group, at the most; above, those of the least worth go.",
        "Facts kept", _MEMORY, minimum=1, maximum=1_000_000,
    ),
    Definition(
        MAX_CAPSULES, "int", 300, "Capsules of one person or group, at the most; above, those of the least worth go.",
        "Capsules kept", _MEMORY, minimum=1, maximum=1_000_000,
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
)  # fmt: skip
