"""Files of holo-memory to be imported, and a memory that is worth an export."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from homed.memory import capsules, dedupe, facts, mutate, stable, tombstones
from homed.memory.capsules import NewCapsule
from homed.memory.evidence import Pointer, digest
from homed.memory.newfact import NewFact
from homed.memory.stable import Record
from homed.store.rows import SqlValue, Tx
from tests.kit.forgetting import World

NOW = 200.0
"""What `test_carrying.importing` takes for now."""

FILES = {"summary": "l1.json", "fact": "l2.json", "capsule": "l3.json"}


def given(folder: Path, **files: list[Any]) -> Path:
    """The original's form: a list at the top, and no key of ours."""
    folder.mkdir(exist_ok=True)
    for record, records in files.items():
        (folder / FILES[record]).write_text(json.dumps(records, ensure_ascii=False), "utf-8")
    return folder


async def records(here: World) -> dict[str, Record]:
    return await here.store.read(lambda tx: {one.text: one for one in stable.select(tx, "1 ORDER BY seq")})


async def only(here: World) -> Record:
    (found,) = (await records(here)).values()
    return found


async def everything(here: World) -> list[list[tuple[Any, ...]]]:
    tables = ("records", "revisions", "members", "evidence", "entities", "entity_names", "tombstones")
    return await here.store.read(lambda tx: [tx.all(f"SELECT * FROM {table} ORDER BY 1, 2") for table in tables])


def original() -> dict[str, list[Any]]:
    """As the original writes it: a conversation that is nowhere here, and times of a clock in milliseconds."""
    source = {
        "origin": "auto", "sessionId": "s_77", "turnId": "t_9", "seqStart": 3, "seqEnd": 3, "role": "user",
        "excerpt": "我们用 pnpm", "excerptHash": f"sha256:{digest('我们用 pnpm')}",
    }  # fmt: skip
    common: dict[str, Any] = {
        "scope": "user",
        "projectKey": None,
        "citedCount": 0,
        "lastCitedAt": None,
        "history": [],
        "revision": 1,
    }
    return {
        "summary": [
            {**common, "id": "l1_20260917_0a1b2c3d", "layer": "l1", "kind": "turn", "title": "装依赖", "importance": 4,
             "text": "用户要装依赖\npnpm install\n装好了", "tags": ["pnpm"], "createdAt": 100.0, "updatedAt": 100.0,
             "source": source, "extractor": "llm"},
        ],
        "fact": [
            {**common, "id": "l2_20260917_9f3c1a7b", "layer": "l2", "kind": "convention", "text": "这个项目用 pnpm。",
             "scope": "project", "projectKey": "0123456789ab-shop", "tags": ["build", "npm"], "importance": 8,
             "confidence": 0.9, "createdAt": 110.5, "updatedAt": 130.0, "citedCount": 4, "lastCitedAt": 140.0,
             "revision": 3, "source": source, "textHash": "sha256:…", "extractor": "llm", "history": [
                 {"revision": 2, "text": "这个项目用 yarn。", "importance": 6, "tags": ["npm"], "updatedAt": 120.0,
                  "source": source},
                 {"revision": 1, "text": "这个项目用 npm。", "importance": 5, "tags": [], "updatedAt": 110.5,
                  "source": None},
             ]},
            {**common, "id": "l2_20260917_00000001", "layer": "l2", "kind": "hobby", "text": "The user sails.",
             "tags": [], "importance": 5, "confidence": 0.4, "createdAt": 1e300, "updatedAt": -5, "source": None,
             "extractor": "fallback"},
        ],
        "capsule": [
            {**common, "id": "l3_20260918_aabbccdd", "layer": "l3", "kind": "project", "title": "The shop",
             "text": "A shop, built with pnpm.", "tags": [], "importance": 7, "createdAt": 150.0, "updatedAt": 160.0,
             "source": None, "extractor": "llm", "memberIds": ["l2_20260917_9f3c1a7b", "l1_20260917_0a1b2c3d", "l2_x"]},
        ],
    }  # fmt: skip


async def lived_in(here: World) -> None:
    """Some of all that a memory has: quotes, corrections, history, projects, members, several scopes, a group."""
    one, _ = await here.say("My name is Anna and I live in Oslo. 我喜欢喝茶。")
    two, _ = await here.say("Now I live in Bergen. The build uses pnpm.")
    guest, _ = await here.say("I sail.", scope="guest:telegram:7", peer="telegram:7")
    group, _ = await here.say("I row.", scope="group:telegram:5", peer="telegram:8")
    await here.learn("The user's name is Anna.", (one, "My name is Anna"), subject="user", relation="name",
                     object="Anna", confidence=0.9)  # fmt: skip
    await here.learn("The user lives in Oslo.", (one, "live in Oslo"), subject="user", relation="lives_in",
                     object="Oslo", object_type="place")  # fmt: skip
    bergen = await here.learn("The user lives in Bergen.", (two, "live in Bergen"), subject="user",
                              relation="lives_in", object="Bergen", object_type="place", importance=8)  # fmt: skip
    tea = await here.learn("用户喜欢喝茶。", (one, "我喜欢喝茶"), kind="preference", tags=("drink", "茶"))
    await here.learn("The build uses pnpm.", two, reach="project", project="0123456789ab-shop", kind="convention")
    await here.learn("The user sails.", guest)
    await here.learn("The user rows.", group, observed="telegram:8", peer="telegram:8", subject="user")

    def more(tx: Tx) -> None:
        found = stable.get(tx, tea)
        assert found
        mutate.edit(tx, found, mutate.Edit(1, text="用户喜欢喝绿茶。", importance=7), at=70.0)
        facts.put(tx, NewFact("owner", "The user hates fog.", origin="manual", extractor="manual"), at=75.0)
        new = NewCapsule("owner", "profile", "The user", "Anna of Bergen. 喜欢喝绿茶。", members=(bergen, tea))
        made = capsules.put_capsule(tx, new, [Pointer(one.id)], at=80.0).record
        capsule = stable.get(tx, made)
        assert capsule
        stable.revise(tx, capsule, {"text": "Anna, of Bergen."}, why="model", at=81.0)
        stable.cite(tx, [bergen, made], at=85.0)
        for number, piece in enumerate((one, two)):
            row: dict[str, SqlValue] = {
                "scope": "owner", "record": "summary", "kind": "turn", "title": f"Turn {number}",
                "text": f"{piece.text}\n-\nNoted.", "key": dedupe.key(f"{piece.text}\n-\nNoted."), "origin": "auto",
                "extractor": "model" if number else "fallback", "importance": 3 + number,
            }  # fmt: skip
            summary = stable.insert(tx, row, at=90.0 + number)
            tx.execute("INSERT INTO evidence (record, event, at) VALUES (?, ?, 90)", (summary, piece.id))
        tombstones.bury(tx, "owner", texts=["Something forgotten."], at=95.0)

    await here.store.write(more)


def exported(folder: Path) -> dict[str, list[dict[str, Any]]]:
    return {name: json.loads((folder / name).read_text("utf-8"))["records"] for name in FILES.values()}
