"""The part of the table of routes that is memory's, and its other addresses.

Every change needs the header ``x-holo-memory: 1`` besides (`Route.changes_memory`): no page of another program sends it
by chance.  What forgets for good, and what is set for all, the kernel lets only an owner do.
"""

from __future__ import annotations

from dataclasses import replace

from .route import HOLO, Route, get, post

MEMORY_ROUTES: tuple[Route, ...] = (
    get("/memory/stats", "memory_stats", "memory", "What there is, what it rests on, and what waits.", "MemoryStats"),
    get("/memory/records", "records", "memory", "Records: searched, filtered, a page at a time.", "Records",
        "RecordsQuery"),
    post("/memory/records", "record_note", "memory", "Write a record by hand.", "RecordWritten", "RecordNote"),
    get("/memory/records/{record}", "record", "memory", "A record with where it comes from, and what became of it.",
        "RecordAnswer", "RecordQuery"),
    post("/memory/records/{record}", "record_edit", "memory", "Change a record; what it said is kept.", "RecordWritten",
         "RecordEdit"),
    Route(
        "DELETE", "/memory/records/{record}", "record_forget", "memory", "Forget a record for good, and prove it.",
        "ForgetProof", body="RecordForget", takes="json",
    ),
    Route(
        "POST", "/memory/records/{record}/{action}", "record_do", "memory",
        "Hide it, bring it back, or let it hold again though another took its place.", "RecordWritten", body="Empty",
        takes="json", choices={"action": ("hide", "restore", "reinstate")},
    ),
    post("/memory/combine", "records_combine", "memory", "Make two records one; the history has both.", "RecordWritten",
         "Combine"),
    post("/memory/preview", "forget_preview", "memory", "What would be forgotten; nothing changes.", "ForgetPreview",
         "Forgetting"),
    post("/memory/forget", "forget_for_good", "memory", "Forget for good, and prove it.", "ForgetProof", "Forgetting"),
    get("/memory/injections", "injections", "memory", "What was told before turns, the newest first.", "Injections",
        "InjectionsQuery"),
    get("/memory/graph", "memory_graph", "memory", "What is known of whom, as a graph.", "GraphAnswer", "GraphQuery"),
    get("/memory/cold", "cold", "memory", "What left the window.", "ColdEvents", "ColdQuery"),
    post("/memory/cold/{event}/back", "cold_back", "memory", "Bring it back into the window.", "BroughtBack"),
    get("/memory/thresholds", "thresholds", "memory", "The thresholds, and what each prevents.", "Thresholds"),
    post("/memory/thresholds", "threshold_set", "memory", "Change one, and say why.", "ThresholdChanged",
         "ThresholdChange"),
    get("/memory/embedding", "embedding", "memory", "How vectors are made; never the key.", "EmbeddingAnswer"),
    Route(
        "PUT", "/memory/embedding", "embedding_set", "memory", "Set how vectors are made; all are made anew.",
        "EmbeddingAnswer", body="EmbeddingChange", takes="json",
    ),
    post("/memory/embedding/probe", "embedding_probe", "memory", "Ask an endpoint for one vector; nothing is kept.",
         "EmbeddingProbed", "EmbeddingPlace"),
    post("/memory/doctor", "memory_doctor", "memory", "Check memory against what it rests on.", "MemoryChecks",
         "MemoryDoctor"),
    get("/memory/merges", "merges", "memory", "People and things that may be one, and those made one.", "Merges"),
    post("/memory/merges/{merge}/accept", "merge_accept", "memory", "They are one.", "MergeDone", "MergeAccept"),
    post("/memory/merges/{merge}/reject", "merge_reject", "memory", "They are two.", "Nothing"),
    post("/memory/merged/{done}/undo", "merge_undo", "memory", "Take a merge back.", "MergeUndone"),
)  # fmt: skip
"""Memory's routes under `route.PREFIX`."""


def _as(name: str, path: str, query: str = "") -> Route:
    known = next(route for route in MEMORY_ROUTES if route.name == name)
    return replace(known, path=path, name=f"holo_{name}", prefix=HOLO, same_as=name, query=query or known.query)


HOLO_ROUTES: tuple[Route, ...] = (
    _as("memory_stats", "/state"),
    replace(_as("records", "/records", "HoloRecordsQuery"), same_as="holo_records"),
    _as("record", "/records/{record}"),
    _as("record_forget", "/records/{record}"),
    _as("injections", "/injections"),
    _as("embedding", "/embedding"),
    _as("embedding_set", "/embedding"),
    _as("embedding_probe", "/embedding/probe"),
    _as("memory_doctor", "/doctor"),
)
"""The same under the addresses that the original had."""
