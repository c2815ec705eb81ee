"""More of a stand-in for the kernel: the ledger of injections, the graph, thresholds, vectors, the health check.

The shapes are those of ``homed.memory.cards``, ``homed.jobs.console``, ``homed.settings.thresholds`` and
``homed.jobs.memcheck.findings``.
"""

from __future__ import annotations

import copy
import time
from typing import Any

from homed.errors import ConfigError, InvalidInput, NotFound

AT = 1_770_000_000.0


def line(id_: str, text: str, **more: Any) -> dict[str, Any]:
    """A line that a turn was told."""
    known = {
        "id": id_, "shown": id_[-8:], "record": id_.partition("_")[0], "kind": "preference", "revision": 1, "now": 1,
        "band": "immediate", "why": "hit", "score": 0.71, "relevance": 0.64, "evidence": "source", "chars": 80,
        "shortened": False, "gone": False, "as_told": True, "status": "active", "text": text,
    }  # fmt: skip
    return {**known, **more}


def injection(seq: int, turn: str, query: str, *lines: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A row of the ledger."""
    counts: dict[str, int] = {}
    for one in lines:
        counts[one["record"]] = counts.get(one["record"], 0) + 1
    known = {
        "seq": seq, "turn": turn, "thread": "th1", "title": "Garden plan", "at": AT + seq, "query": query,
        "mode": "hit", "counts": counts, "chars": 412, "ms": 14.3, "late": [], "below": 3, "cut": 0,
        "channels": {"lexical": 4, "vector": 2}, "lines": list(lines),
    }  # fmt: skip
    return {**known, **more}


def threshold(key: str, value: Any, prevents: str, **more: Any) -> dict[str, Any]:
    """A threshold."""
    known = {
        "key": key, "value": value, "default": value, "type": "int" if isinstance(value, int) else "float",
        "minimum": 0, "maximum": 12_000, "name": key.rpartition(".")[2].replace("_", " ").capitalize(),
        "description": f"What {key.rpartition('.')[2]} does.", "source": "default", "place": "", "prevents": prevents,
        "changes": [],
    }  # fmt: skip
    return {**known, **more}


def check(id_: str, status: str = "pass", **more: Any) -> dict[str, Any]:
    """What a check found."""
    known = {
        "id": id_, "name": id_.replace("_", " ").capitalize(), "status": status, "fix": "",
        "evidence": "Read 214 records: nothing wrong.", "read": 214, "wrong": 0, "ids": [], "repairable": False,
        "mended": "", "mends": 0, "ms": 3,
    }  # fmt: skip
    return {**known, **more}


class Ledger:
    """``memory.injections``, ``memory.graph``, ``memory.thresholds`` and what an owner sets and looks after."""

    def __init__(self) -> None:
        self.injected: list[dict[str, Any]] = []
        self.nodes: list[dict[str, Any]] = []
        self.edges: list[dict[str, Any]] = []
        self.thresholds: list[dict[str, Any]] = []
        self.memory_checks: list[dict[str, Any]] = []
        self.embedding: dict[str, Any] = {}
        self.probed: list[dict[str, Any]] = []

    def memory_injections(
        self, peer: str, limit: int = 20, before: int | None = None, thread: str = "", record: str = "", turn: str = ""
    ) -> Any:
        found = [
            one
            for one in sorted(self.injected, key=lambda one: -one["seq"])
            if (not before or one["seq"] < before)
            and (not thread or one["thread"] == thread)
            and (not turn or one["turn"] == turn)
            and (not record or any(line_["id"].endswith(record) for line_ in one["lines"]))
        ]
        if record and not found:
            raise NotFound(f"There is no record {record}.")
        return {"injections": found[:limit], "next": found[limit - 1]["seq"] if len(found) > limit else None}

    def memory_graph(self, peer: str, center: str = "", depth: int = 2, limit: int = 200) -> Any:
        middle = next((one for one in self.nodes if center in (one["id"], one["name"])), None)
        if center and middle is None:
            raise NotFound(f"Nobody and nothing here is called {center}.")
        return {
            "center": middle["id"] if middle else "",
            "nodes": self.nodes[:limit],
            "edges": self.edges,
            "more": False,
        }

    def memory_thresholds(self, peer: str) -> Any:
        return {"thresholds": self.thresholds}

    def admin_threshold_set(self, peer: str, key: str, value: Any, reason: str) -> Any:
        one = next((one for one in self.thresholds if one["key"] == key), None)
        if one is None:
            raise InvalidInput(f"{key[:80]} is no threshold.")
        value = one["default"] if value is None else value
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InvalidInput(f"{key} is a number.")
        if not reason.strip():
            raise ConfigError("It needs a reason.", detail={"needs": "reason"})
        if not one["minimum"] <= value <= one["maximum"]:
            raise InvalidInput(f"{key} must be between {one['minimum']} and {one['maximum']}.")
        change = {"was": one["value"], "now": value, "reason": reason, "peer": peer, "at": time.time()}
        one |= {"value": value, "source": "stored", "changes": [change, *one["changes"]]}
        self.post("memory", "", "", what="thresholds")  # type: ignore[attr-defined]
        return {**one, "applied": "now"}

    def admin_memory_doctor(self, peer: str, deep: bool = False, repair: bool = False) -> Any:
        for done, one in enumerate(self.memory_checks):
            told = {"what": "doctor", "phase": "looking", "kind": one["id"], "done": done}
            self.post("memory", "", "", **told, total=len(self.memory_checks))  # type: ignore[attr-defined]
            if repair and one["repairable"] and one["wrong"]:
                one |= {
                    "mended": f"Mended: {one['wrong']} of them.",
                    "mends": one["wrong"],
                    "wrong": 0,
                    "status": "pass",
                }
        found = self.memory_checks
        read = sum(one["read"] for one in found)
        clean = all(one["status"] == "pass" for one in found)
        return {"checks": found, "deep": deep, "repair": repair, "clean": clean, "read": read, "ms": 214, "counts": {}}

    def admin_embedding_get(self, peer: str) -> Any:
        return self.embedding

    def admin_embedding_probe(self, peer: str, **given: Any) -> Any:
        self.probed.append(given)
        if "nowhere" in str(given.get("base_url")):
            told = {"ok": False, "reachable": False, "embeds": False, "dims": 0, "error": "No answer."}
            return {**told, "hint": "Is its address right?", "ms": 2}
        return {"ok": True, "reachable": True, "embeds": True, "dims": 384, "error": "", "hint": "", "ms": 41}

    def admin_embedding_set(self, peer: str, **given: Any) -> Any:
        key = given.pop("api_key", None)
        self.embedding |= {**given, **({} if key is None else {"hasKey": bool(key)})}
        self.embedding["embedder"] |= {"used": self.embedding["embedding"], "state": "ready"}
        self.embedding["progress"] |= {"done": 0, "foreign": 812}
        return self.embedding


MEI = "fact_000000009f3c1a7b"
BED = "fact_00000000aaaa0002"
AUTUMN = "summary_00000000bbbb0001"
PROFILE = "capsule_00000000cccc0001"
GONE = "fact_000000000eadbeef"
PEOPLE = (
    ("Mei", "person"), ("Anna Petrova", "person"), ("Lisbon", "place"), ("Lisbon office", "organisation"),
    ("南边的苗床", "thing"), ("Garden plan", "project"), ("Black Krim", "thing"), ("Autumn clean-up", "event"),
    ("李国松", "person"), ("Seed exchange", "organisation"), ("Wall bed", "thing"), ("Cordon tomatoes", "thing"),
)  # fmt: skip
BETWEEN = (
    (0, 5, "plans"), (0, 1, "knows"), (1, 3, "works at"), (3, 2, "is in"), (0, 4, "owns"), (0, 6, "dislikes"),
    (5, 11, "contains"), (11, 10, "grows in"), (0, 7, "took part in"), (8, 0, "朋友"), (9, 0, "has member"),
    (8, 9, "runs"), (1, 9, "visits"), (5, 4, "uses"), (0, 1, "works with"),
)  # fmt: skip
EMBEDDING: dict[str, Any] = {
    "enabled": True, "embedding": "auto", "base_url": "", "model": "", "dimensions": 0, "folder": "",
    "word_vectors": "", "baseline": 0.0, "key_file": "", "hasKey": False, "places": {},
    "embedder": {"wanted": "auto", "used": "bundled", "state": "ready", "reason": ""},
    "fingerprint": "bundled:use-multilingual:512:9f3c1a7b", "dims": 512, "trouble": "",
    "progress": {"done": 1180, "total": 1214, "failed": 2, "foreign": 0},
}  # fmt: skip


def furnish_ledger(kernel: Any) -> None:
    """A year of it."""
    kernel.injected = [_first(), *_others()]
    kernel.nodes = [
        {
            "id": f"entity_{n:032x}",
            "name": name,
            "type": type_,
            "mentions": 9 - n % 8,
            "distance": 0,
            "untrusted": False,
        }
        for n, (name, type_) in enumerate(PEOPLE)
    ]
    ids = [node["id"] for node in kernel.nodes]
    kernel.edges = [edge(n, ids[a], ids[b], word) for n, (a, b, word) in enumerate(BETWEEN)]
    kernel.edges[0]["record"] = MEI
    kernel.edges.append({**edge(40, ids[0], None, "lives since"), "value": "2019", "untrusted": True})
    kernel.thresholds = _thresholds()
    kernel.memory_checks = _checks()
    kernel.embedding = copy.deepcopy(EMBEDDING)


def _first() -> dict[str, Any]:
    far: dict[str, Any] = {"band": "background", "why": "active", "score": 0.0, "relevance": 0.0}
    near: dict[str, Any] = {"band": "working", "evidence": "pointer"}
    return injection(
        1, "ta", "Which tomatoes did badly last year?",
        line(MEI, "Mei wants no Black Krim any more: they split in the rain."),
        line(BED, "The south bed is 2.4 m × 0.9 m.", **near, why="graph", score=0.42, revision=2, now=3, kind="fact"),
        line(AUTUMN, "Talked about the clean-up in autumn.", **near, why="latest", score=0.2, kind="turn"),
        line(PROFILE, "Mei gardens on two beds and hates waste.", **far, kind="profile", shortened=True, evidence=""),
        line(GONE, "(deleted)", **far, gone=True, kind="", now=0, status=""),
        late=["cold"],
    )  # fmt: skip


def _others() -> list[dict[str, Any]]:
    beds = line(PROFILE, "Mei gardens on two beds.", band="background", why="capsule", kind="profile")
    return [
        injection(2, "tb", "今年番茄种什么？", line(MEI, "Mei 不再种黑克里姆番茄。"), thread="th2", title="花园"),
        injection(3, "tc", "continue", beds, mode="snapshot", ms=2.0, below=0),
    ]


def _thresholds() -> list[dict[str, Any]]:
    less = {"was": 1400, "now": 1200, "reason": "The small model lost the thread.", "peer": "webui:owner", "at": AT}
    more = {"was": 1000, "now": 1400, "reason": "Too little for two projects.", "peer": "cli:local", "at": AT - 9e4}
    weak = "notes that share no more than a few weak words with what was said"
    crowd, talk = "notes that crowd the context and delay the first word", "summaries of small talk"
    return [
        threshold("core.memory.inject_min_score", 0.12, weak, maximum=1),
        threshold("core.memory.inject_max_chars", 1200, crowd, minimum=200, source="stored", changes=[less, more]),
        threshold("core.memory.extract_min_turn_chars", 60, talk, maximum=10_000),
    ]


def _checks() -> list[dict[str, Any]]:
    twice = {"evidence": "Read 214 facts: 2 say the same as another one.", "fix": "Run it with --repair."}
    secret = {"evidence": "Read 214 records: 1 holds a secret.", "fix": "Forget it: `homed memory forget fact ID`."}
    failed = "The check itself failed (Timeout), so it says nothing about memory."
    return [
        check("storage"),
        check("hashes", read=612),
        check("duplicates", "warn", **twice, wrong=2, repairable=True, ids=["fact_1", "fact_2"]),
        check("secrets", "fail", **secret, wrong=1, ids=["fact_0a"]),
        check("vectors", "error", evidence=failed, read=0),
    ]


def edge(n: int, from_: str, to: str | None, relation: str) -> dict[str, Any]:
    """A fact between two."""
    return {
        "record": f"fact_{n + 0xA00:032x}", "shown": f"{n + 0xA00:08x}", "from": from_, "to": to, "value": "",
        "relation": relation,
        "text": "", "confidence": 0.8, "status": "active", "importance": 5, "untrusted": False, "valid_from": None,
        "valid_until": None,
    }  # fmt: skip
