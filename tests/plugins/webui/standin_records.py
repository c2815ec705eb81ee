"""Records of a stand-in for the kernel: ``memory.*`` of the console, in memory and small enough to read.

The shapes are those of ``homed.memory.cards``.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

from homed.errors import Conflict, InvalidInput, NotFound

AT = 1_770_000_000.0
DAY = 86_400.0


def record(id_: str, text: str, **more: Any) -> dict[str, Any]:
    """A record as lists have it."""
    known: dict[str, Any] = {
        "id": id_, "shown": id_[-8:], "record": "fact", "kind": "fact", "title": "", "text": text, "scope": "owner",
        "reach": "user", "project": "", "status": "active", "mark": "source", "untrusted": False, "origin": "auto",
        "extractor": "model", "level": "explicit", "observed": "", "tags": [], "importance": 5, "confidence": 0.8,
        "times": 1, "cited": 0, "cited_at": None, "revision": 1, "recheck": False, "subject": None, "relation": "",
        "object": "", "object_entity": None, "superseded_by": None, "valid_from": None, "valid_until": None,
        "created_at": AT, "updated_at": AT,
    }  # fmt: skip
    return {**known, **more}


def said(event: str, text: str, **more: Any) -> dict[str, Any]:
    """A piece of evidence."""
    known = {
        "event": event, "thread": "th1", "title": "Garden plan", "channel": "webui", "turn": "turn1", "kind": "user",
        "peer": "webui:owner", "speaker": "Mei", "at": AT, "layer": "cold", "untrusted": False, "first": 8,
        "last": 8 + len(text), "text": text, "hash_ok": True, "state": "ok", "before": "By the way, ",
        "after": " Do you have an idea what to plant?", "of": 200, "upto": 0, "found_at": AT,
    }  # fmt: skip
    return {**known, **more}


def brief(one: dict[str, Any]) -> dict[str, Any]:
    """A record beside another one."""
    keys = (
        "id", "shown", "record", "kind", "title", "text", "status", "revision", "valid_from", "valid_until",
        "created_at", "updated_at", "superseded_by", "untrusted",
    )  # fmt: skip
    return {key: one[key] for key in keys}


class Records:
    """``memory.*`` of records, of cold memory and of merges."""

    def __init__(self) -> None:
        self.known: dict[str, dict[str, Any]] = {}
        self.rests: dict[str, list[dict[str, Any]]] = {}
        self.before: dict[str, list[dict[str, Any]]] = {}
        self.cited_in: dict[str, list[dict[str, Any]]] = {}
        self.told_in: dict[str, list[dict[str, Any]]] = {}
        self.in_cold: list[dict[str, Any]] = []
        self.proposed: list[dict[str, Any]] = []
        self.merged: list[dict[str, Any]] = []
        self.gates: dict[str, int] = {}
        self.told_days: dict[str, int] = {}
        self.brought: list[str] = []

    def keep(self, one: dict[str, Any], *evidence: dict[str, Any]) -> dict[str, Any]:
        """A record with what it rests on."""
        self.known[one["id"]] = one
        self.rests[one["id"]] = list(evidence)
        return one

    def _record(self, id_: str) -> dict[str, Any]:
        found = [one for one in self.known.values() if one["id"] == id_ or one["shown"] == id_]
        if not found:
            raise NotFound(f"There is no record {id_[:40]}.", hint="Ids are the eight digits behind id: in a note.")
        return found[0]

    def memory_records(self, peer: str, limit: int = 50, before: str = "", **wanted: Any) -> Any:
        query, sort = str(wanted.pop("query", "")), wanted.pop("sort", "newest")
        since, until = wanted.pop("since", 0.0), wanted.pop("until", 1e12)
        tag, entity = wanted.pop("tag", ""), wanted.pop("entity", "")
        names = {"evidence": "mark", "person": "observed"}
        wanted = {names.get(key, key): "" if value == "none" else value for key, value in wanted.items()}
        wanted.setdefault("status", "active")
        found = [
            {**one, **({"score": 0.5} if query else {})}
            for one in self.known.values()
            if all(one[key] == value or (key, value) == ("status", "any") for key, value in wanted.items())
            and (query.lower() in one["text"].lower() or query == one["shown"])
            and (not tag or tag in one["tags"])
            and (not entity or entity == (one["subject"] or {}).get("id"))
            and since <= one["created_at"] < until
        ]
        found.sort(key=lambda one: one["created_at" if sort == "newest" else sort], reverse=True)
        start = int(before.partition(":")[0] or 0)
        more = str(start + limit) if len(found) > start + limit else None
        return {"records": found[start : start + limit], "next": more, "of": len(found)}

    def memory_record(self, peer: str, id: str, history: bool = False) -> Any:
        one = self._record(id)
        rest = self.rests[one["id"]]
        newer = self.known.get(one["superseded_by"] or "")
        return {
            **one, "source": "" if rest or one["origin"] == "manual" else "source unavailable", "evidence": rest,
            "history": self.before.get(one["id"], []),
            "older": [brief(old) for old in self.known.values() if old["superseded_by"] == one["id"]],
            "newer": [brief(newer)] if newer else [], "members": [], "capsules": [], "scenes": [],
            "citations": self.cited_in.get(one["id"], []), "injections": self.told_in.get(one["id"], []),
        }  # fmt: skip

    def _changed(self, one: dict[str, Any], **values: Any) -> dict[str, Any]:
        one |= {**values, "updated_at": time.time()}
        self.post("memory", "", "", what="records")  # type: ignore[attr-defined]
        return one

    def _revised(self, one: dict[str, Any], why: str, **values: Any) -> dict[str, Any]:
        kept = {key: one[key] for key in ("revision", "title", "text", "importance", "tags")}
        self.before.setdefault(one["id"], []).insert(0, {**kept, "why": why, "at": one["updated_at"]})
        return self._changed(one, revision=one["revision"] + 1, **values)

    def memory_edit(self, peer: str, id: str, revision: int, **values: Any) -> Any:
        one = self._record(id)
        if revision != one["revision"]:
            raise Conflict(f"It was changed meanwhile: it is at revision {one['revision']}.", hint="Look at it again.")
        if "password:" in values.get("text", ""):
            raise InvalidInput("blocked: password")
        return self._revised(one, "edited", origin="manual", mark="manual", **values)

    def memory_note(self, peer: str, text: str, record: str = "fact", **more: Any) -> Any:
        if "password:" in text:
            raise InvalidInput("blocked: password")
        made = globals()["record"](f"{record}_{len(self.known):032x}", text, record=record, origin="manual", **more)
        made |= {"mark": "manual", "created_at": time.time()}
        self.keep(made)
        return self._changed(made)

    def memory_hide(self, peer: str, id: str) -> Any:
        return self._changed(self._record(id), status="hidden")

    def memory_restore(self, peer: str, id: str) -> Any:
        return self._changed(self._record(id), status="active")

    def memory_reinstate(self, peer: str, id: str) -> Any:
        one = self._record(id)
        if one["status"] != "superseded":
            raise Conflict(f"{one['shown']} was not superseded.")
        return self._changed(one, status="active", superseded_by=None, valid_until=None)

    def memory_combine(self, peer: str, keep: str, gone: str) -> Any:
        kept, other = self._record(keep), self._record(gone)
        if kept["record"] != other["record"]:
            raise Conflict("Only two of one kind and one scope can be one.")
        other |= {"status": "superseded", "superseded_by": kept["id"]}
        return self._revised(kept, f"combined {other['shown']}", times=kept["times"] + other["times"])

    def admin_memory_preview(self, peer: str, kind: str, target: str, wide: bool = False) -> Any:
        one = self._record(target)
        counts = {"records": 1, "vectors": 1, "evidence": len(self.rests[one["id"]])} | ({"events": 2} if wide else {})
        return {
            "kind": kind, "target": one["id"], "wide": wide, "scope": "owner", "counts": counts,
            "rechecked": 1 if wide else 0, "stays": 0 if wide else 2, "busy": False, "first": AT, "last": AT + DAY,
        }  # fmt: skip

    def admin_memory_forget(self, peer: str, kind: str, target: str, wide: bool = False) -> Any:
        one = self._record(target)
        del self.known[one["id"]]
        searched = {"sentences": 3, "short": 0, "left_out": 0, "files": 4, "bytes": 3 << 20, "not_in": []}
        return {
            "id": "fgt_1", "kind": kind, "clean": True, "removed": {"records": 1, "evidence": 1}, "searched": searched,
            "scrubbed": [], "log_lines": 0, "found": {}, "said": [], "unread": [], "copies": [], "resumed": False,
            "problem": "", "ms": 812.0,
        }  # fmt: skip

    def memory_stats(self, peer: str) -> Any:
        holds = [one for one in self.known.values() if one["status"] == "active"]

        def by(key: str, found: list[dict[str, Any]]) -> dict[str, int]:
            return dict(Counter(one[key] for one in found))

        evidence = {"source": 0, "pointer": 0, "manual": 0, "none": 0} | by("mark", holds)
        evidence["none"] += evidence.pop("", 0)
        layer = {"events": 0, "tokens": 0, "files": 0, "bytes": 0}
        kinds = {
            "event": {"have": 900, "waiting": 40, "failed": 0},
            "record": {"have": len(holds), "waiting": 0, "failed": 1},
            "entity": {"have": 12, "waiting": 0, "failed": 0},
            "block": {"have": 0, "waiting": 0, "failed": 0},
        }
        return {
            "scopes": ["owner"],
            "records": {
                "total": len(self.known), "record": by("record", holds), "kind": by("kind", holds),
                "status": by("status", list(self.known.values())), "reach": by("reach", holds),
                "untrusted": sum(one["untrusted"] for one in holds), "recheck": sum(one["recheck"] for one in holds),
                "evidence": evidence,
            },
            "layers": {
                "context": {**layer, "events": 60, "tokens": 31_000},
                "cold": {**layer, "events": len(self.in_cold), "tokens": 210_000, "files": 3, "bytes": 400_000},
                "archived": {**layer, "events": 3, "tokens": 900},
            },
            "graph": {"entities": 12, "edges": 9, "merges": len(self.proposed)},
            "citations": {"total": 7, "records": 3, "week": 2},
            "injections": {
                "turns": 14, "chars": 8_412, "modes": {"hit": 11, "background": 2, "snapshot": 1}, "slowest_ms": 41.2,
                "days": self.told_days,
            },
            "revisions": [
                {"id": one["id"], "record": one["record"], "kind": one["kind"], "revision": one["revision"],
                 "at": one["updated_at"], "why": self.before[one["id"]][0]["why"]}
                for one in self.known.values() if self.before.get(one["id"])
            ],
            "passes": {"waiting": 2, "oldest": AT, "gates": dict(self.gates),
                       "blocked": sum(n for gate, n in self.gates.items() if gate.split(":")[0] == "secret")},
            "distil": {"enabled": True, "source": "current", "calls_an_hour": 60},
            "vectors": {
                "fingerprint": "bundled-512", "dims": 512, "kinds": kinds, "foreign": 0, "trouble": "",
                "embedder": {"wanted": "auto", "used": "bundled", "state": "ready", "reason": ""},
            },
            "bytes": {"db": 9 << 20, "wal": 1 << 20, "vectors": 3 << 20, "media": 2 << 20, "backups": 0},
            "by_scope": [
                {"scope": "owner", "records": len(self.known), "events": 990},
                {"scope": "group:lark", "records": 0, "events": 12},
            ],
            "runs": [], "jobs": [{"job": "pass", "due_at": AT, "paused": False, "failures": 0, "held": 1}],
            "paths": {"data": "/d", "db": "/d/homed.db", "vectors": "/d/v", "media": "/d/m", "backups": "/d/b"},
        }  # fmt: skip

    def memory_cold(self, peer: str, query: str = "", before: str = "", limit: int = 30) -> Any:
        found = [
            {**one, **({"score": 0.4} if query else {})}
            for one in self.in_cold
            if query.lower() in one["text"].lower() and (not before or one["seq"] < int(before))
        ]
        return {"events": found[:limit], "next": str(found[limit - 1]["seq"]) if len(found) > limit else None}

    def memory_bring_back(self, peer: str, event: str) -> Any:
        if event not in [one["event"] for one in self.in_cold]:
            raise NotFound("That is not in the cold layer.", hint="It may be back in the window already.")
        self.in_cold = [one for one in self.in_cold if one["event"] != event]
        self.brought.append(event)
        return {"events": [event]}

    def admin_merges_list(self, peer: str) -> Any:
        return {"merges": self.proposed, "done": self.merged}

    def _proposal(self, merge: str) -> dict[str, Any]:
        for one in self.proposed:
            if one["merge"] == merge:
                return one
        raise NotFound(f"Nothing is proposed as {merge[:40]!r}.", hint="`homed memory merges` lists what is.")

    def admin_merges_accept(self, peer: str, merge: str, keep: int = 0) -> Any:
        one = self._proposal(merge)
        self.proposed.remove(one)
        names = [side["name"] for side in one["sides"]]
        kept, gone = names if keep != 2 else names[::-1]
        done = {"done": len(self.merged) + 1, "scope": one["scope"], "kept": kept, "gone": gone, "at": time.time()}
        self.merged.insert(0, done)
        return done

    def admin_merges_reject(self, peer: str, merge: str) -> Any:
        self.proposed.remove(self._proposal(merge))
        return {}

    def admin_merges_undo(self, peer: str, done: int) -> Any:
        for one in self.merged:
            if one["done"] == done:
                self.merged.remove(one)
                return {"name": one["gone"]}
        raise NotFound("There is no such merge.")


def cold(number: int, text: str, **more: Any) -> dict[str, Any]:
    """A message that left the window."""
    known = {
        "event": f"ev_{number:08}", "seq": number, "at": AT - number * 3600, "thread": "th1", "title": "Garden plan",
        "channel": "webui", "turn": "turn1", "kind": "user", "peer": "webui:owner", "sunk_at": AT, "untrusted": False,
        "text": text, "of": len(text),
    }  # fmt: skip
    return {**known, **more}


def side(name: str, type_: str, *facts: str) -> dict[str, Any]:
    """One of two that may be one."""
    return {"entity": f"ent_{name}", "name": name, "type": type_, "mentions": 3 + len(facts), "facts": list(facts)}


def furnished_records(kernel: Records) -> None:
    """Something of everything, in both languages."""
    keep = kernel.keep
    keep(
        record("fact_000000009f3c1a7b", "Mei lives in Munich since May.", kind="correction", revision=3,
               importance=8, cited=2, cited_at=AT, times=2, tags=["home", "city"], relation="lives_in",
               subject={"id": "ent_Mei", "name": "Mei"}, object="Munich", created_at=AT + 50, updated_at=AT + 5 * DAY),
        said("ev_1", "I live in Munich since May", hash_ok=True),
        said("ev_2", "we moved to Munich", hash_ok=False, state="mismatch", before="As I told you, ", turn="turn2"),
        {"event": "ev_gone", "first": 3, "last": 20, "text": "source unavailable", "hash_ok": None, "state": "missing",
         "before": "", "after": "", "of": 0, "upto": 0, "found_at": AT},
        said("ev_3", "Mei lives in Munich.", upto=1, kind="assistant", speaker=""),
    )  # fmt: skip
    id_ = "fact_000000009f3c1a7b"
    kernel.before[id_] = [
        {"revision": 2, "title": "", "text": "Mei lives in Munich.", "importance": 6, "tags": ["home"],
         "why": "edited", "at": AT + 2 * DAY},
        {"revision": 1, "title": "", "text": "Mei moved to Munich.", "importance": 6, "tags": ["home"],
         "why": "model", "at": AT + 50},
    ]  # fmt: skip
    kernel.cited_in[id_] = [{"turn": "turn7", "thread": "th2", "title": "Where to eat", "at": AT + 3 * DAY}]
    kernel.told_in[id_] = [
        {"seq": 4, "turn": "turn7", "thread": "th2", "title": "Where to eat", "at": AT + 3 * DAY, "mode": "hit",
         "band": "immediate", "why": "hit", "score": 0.81, "relevance": 0.7, "revision": 2, "evidence": "source",
         "place": 1},
    ]  # fmt: skip
    keep(
        record("fact_00000000aaaa0001", "Mei lives in Berlin.", status="superseded", superseded_by=id_,
               created_at=AT - 300 * DAY, valid_until=AT), said("ev_4", "I live in Berlin"),
    )  # fmt: skip
    keep(record("fact_00000000aaaa0002", "梅喜欢在阳台上种番茄，最喜欢的品种是黑番茄。", kind="preference",
                importance=9, tags=["园艺"], created_at=AT + 40), said("ev_5", "我最喜欢黑番茄"))  # fmt: skip
    keep(record("fact_00000000aaaa0003", "The shop says that its tomatoes are the best.", untrusted=True,
                mark="pointer", created_at=AT + 30), said("ev_6", "Our tomatoes are the best!", first=None, last=None,
                hash_ok=None, state="pointer", kind="tool", speaker="", untrusted=True))  # fmt: skip
    keep(record("summary_00000000bbbb0001", "Asked where to plant tomatoes; looked at the notes; four.",
                record="summary", kind="turn", mark="pointer", created_at=AT + 20), said("ev_7", "Where?", first=None,
                last=None, hash_ok=None, state="pointer"))  # fmt: skip
    keep(record("capsule_00000000cccc0001", "Grows tomatoes on a balcony and in two beds.", kind="project",
                record="capsule", title="Garden", mark="", created_at=AT + 10))  # fmt: skip
    keep(record("fact_00000000aaaa0004", "The meeting is on Tuesdays.", mark="manual", origin="manual",
                extractor="manual", kind="convention", reach="project", project="ab12cd34ef56-notes"))  # fmt: skip
    keep(record("fact_00000000aaaa0005", "Mei is allergic to peanuts.", status="hidden"))
    keep(record("fact_00000000aaaa0006", "Mei lives on the moon.", status="quarantined", untrusted=True))
    kernel.in_cold = [cold(n, f"Message {n}: tomatoes and beans." if n % 3 else f"第 {n} 条：番茄和豆子。") for n in
                      range(80, 30, -1)]  # fmt: skip
    kernel.proposed = [
        {"merge": "aaaa1111-bbbb2222", "scope": "owner", "score": 0.86, "sides": [
            side("Zhang Wei", "person", "Zhang Wei is the landlord."), side("张伟", "person", "张伟住在楼下。")]},
        {"merge": "cccc3333-dddd4444", "scope": "owner", "score": 0.71, "sides": [
            side("K8s", "thing"), side("Kubernetes", "thing", "It runs Kubernetes.", "It is upgraded in May.")]},
    ]  # fmt: skip
    kernel.merged = [{"done": 1, "scope": "owner", "kept": "Mei", "gone": "May", "at": AT}]
    kernel.gates = {"known": 31, "not_said": 6, "secret": 3, "tainted": 2, "bad_json": 1}
    today = time.time()
    kernel.told_days = {
        time.strftime("%Y-%m-%d", time.localtime(today - back * DAY)): n for back, n in ((0, 5), (1, 3), (3, 6))
    }
