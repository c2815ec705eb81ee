"""Skills under a real daemon: the model writes one, an owner says yes, the next request offers it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.kit.daemon import until
from tests.kit.house import House, Plan, house

pytestmark = pytest.mark.slow


def calls(home: House, tool: str, *, asked: bool = True, **args: Any) -> str:
    """Have the model call a tool, say yes where the owner is asked, and return the result."""
    home.fake.call_tool(tool, args, then="done")
    begun = home.ask("chat", text=f"{tool} {json.dumps(args)}", can_ask=True)
    if asked:
        (approval,) = until(lambda: home.ask("approvals")["approvals"], what="an approval")
        assert approval["args"] == args
        home.ask("approve", approval=approval["approval"], decision="allow")
    home.ask("wait", input=begun["input"])
    (event,) = [event for event in home.history(begun["thread"]) if event["kind"] == "tool"]
    return str(event["text"])


def offered(home: House) -> dict[str, str]:
    """The tools of the last request, with what is said of them."""
    home.says("hello")
    return {
        tool["function"]["name"]: tool["function"]["description"]
        for tool in home.fake.requests[-1].body.get("tools", [])
    }


def test_a_skill_from_written_to_followed(tmp_path: Path) -> None:
    with house(tmp_path / "data", Plan(only=("skills",), vectors=False)) as home:
        made = calls(home, "skill_create", name="tea", description="Makes tea.", text="1. Boil water.")
        sha = json.loads(made)["sha256"]
        assert "There is no skill" in calls(home, "skill_info", asked=False, name="nonesuch")
        assert "skill_load" not in offered(home)
        assert "another sha256" in calls(home, "skill_enable", name="tea", sha256="0" * 64)
        assert json.loads(calls(home, "skill_enable", name="tea", sha256=sha))["state"] == "enabled"
        assert offered(home)["skill_load"].endswith("- tea: Makes tea.")
        assert "1. Boil water." in calls(home, "skill_load", asked=False, name="tea")
        home.daemon.stop()
        home.start()
        assert offered(home)["skill_load"].endswith("- tea: Makes tea."), "the list of the last run"
        assert "1. Boil water." in calls(home, "skill_load", asked=False, name="tea")
