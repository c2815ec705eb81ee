"""`homed peers` and `homed rules` on a folder nobody runs on: roles are given, rules withdrawn, mistakes are said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import trio

from homed.__main__ import main
from homed.identity.peers import Directory
from homed.identity.permissions import Decision, Rule
from homed.identity.roles import Role
from homed.identity.rules import Rules
from homed.paths import Paths
from homed.store.db import open_store


def homed(folder: Path, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main([*words, "--data", str(folder)])
    said = capsys.readouterr()
    return code, said.out, said.err


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder where three have spoken and two rules stand."""
    paths = Paths(tmp_path / "data")
    paths.create()

    async def furnish() -> None:
        async with open_store(paths.db) as store:
            directory, rules = Directory(store), Rules(store, iter(range(1_700_000_000, 1_700_000_009)).__next__)
            for peer, name in (("cli:owner", ""), ("tg:1", "Anna\x1b[2J"), ("tg:2", "Bob")):
                await directory.identify(peer.partition(":")[0], peer, name=name)
            await rules.add(Rule(Decision.ALLOW, tool="cmd_run", thread="th_1", role="owner"))
            await rules.add(Rule(Decision.DENY, peer="tg:1"))

    trio.run(furnish)
    return paths.data


def role_of(folder: Path, peer: str) -> Role:
    async def look() -> Role:
        async with open_store(Paths(folder).db) as store:
            return (await Directory(store).identify(peer.partition(":")[0], peer)).role

    return trio.run(look)


def test_a_role_is_given_and_seen(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = homed(folder, capsys, "peers", "list")
    assert code == 0
    assert [line.split()[:2] for line in out.splitlines()[1:]] == [
        ["cli:owner", "owner"], ["tg:1", "guest"], ["tg:2", "guest"],
    ]  # fmt: skip
    assert "\x1b" not in out
    code, out, err = homed(folder, capsys, "peers", "role", "tg:2", "trusted")
    assert (code, out) == (0, "tg:2 is trusted now.\n")
    assert str(folder) in err
    assert role_of(folder, "tg:2") is Role.TRUSTED
    found = json.loads(homed(folder, capsys, "peers", "list", "bob", "--json")[1])
    assert [(one["id"], one["role"]) for one in found] == [("tg:2", "trusted")]
    assert homed(folder, capsys, "peers", "list", "nobody")[1] == "Nobody here is called nobody.\n"
    assert json.loads(homed(folder, capsys, "peers", "role", "tg:2", "owner", "--json")[1])["role"] == "owner"


def test_what_cannot_be_is_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = homed(folder, capsys, "peers", "role", "cli:owner", "guest")
    assert code == 1
    assert "last owner" in err
    code, _, err = homed(folder, capsys, "peers", "role", "tg:9", "trusted")
    assert code == 1
    assert "has spoken here" in err
    with pytest.raises(SystemExit) as caught:
        main(["peers", "role", "tg:1", "king", "--data", str(folder)])
    assert caught.value.code == 2
    assert role_of(folder, "cli:owner") is Role.OWNER


def test_a_rule_is_withdrawn(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = homed(folder, capsys, "rules", "list")
    assert code == 0
    assert "tool cmd_run, role owner, conversation th_1" in out
    assert "peer tg:1" in out
    first, second = json.loads(homed(folder, capsys, "rules", "list", "--json")[1])
    assert (first["decision"], second["decision"]) == ("allow", "deny")
    code, out, _ = homed(folder, capsys, "rules", "remove", first["rule"])
    assert (code, out) == (0, f"{first['rule']} is gone: what else holds decides from now on.\n")
    code, _, err = homed(folder, capsys, "rules", "remove", first["rule"])
    assert code == 1
    assert "no permission rule" in err
    homed(folder, capsys, "rules", "remove", second["rule"])
    assert homed(folder, capsys, "rules", "list")[1].startswith("No rule:")


def test_many_people_are_listed_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = Paths(tmp_path / "data")
    paths.create()

    async def furnish() -> None:
        async with open_store(paths.db) as store:
            rows = [(f"tg:{n:04}", "tg", "guest", 1.0, 1.0) for n in range(450)]
            add = "INSERT INTO peers (id, plugin, role, created_at, seen_at) VALUES (?, ?, ?, ?, ?)"
            await store.write(lambda tx: tx.many(add, rows))

    trio.run(furnish)
    listed = json.loads(homed(paths.data, capsys, "peers", "list", "--json")[1])
    assert len(listed) == len({one["id"] for one in listed}) == 450
