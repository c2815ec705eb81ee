"""The table of scenarios and wires, as it stands in docs/providers.md.

``python -m tests.providers.table`` writes it there; a test keeps the two equal.
"""

from __future__ import annotations

from pathlib import Path

from tests.providers.awaited import AWAITED
from tests.providers.scenario import Scenario, all_scenarios
from tests.providers.wires import LUA, NATIVE, PATHS, WIRES, Wired

DOCUMENT = Path(__file__).parents[2] / "docs" / "providers.md"
BEGIN = "<!-- the table of scenarios begins; `python -m tests.providers.table` writes it -->"
END = "<!-- the table of scenarios ends -->"

TITLES = {
    "openai": "OpenAI", "anthropic": "Anthropic", "gemini": "Gemini", "ollama": "Ollama", "deepseek": "DeepSeek",
}  # fmt: skip


def table() -> str:
    """The whole of it, with the reasons why a scenario is not played on a wire as notes behind it."""
    scenarios = all_scenarios()
    notes: list[str] = []
    lines = [
        f"{len(scenarios)} scenarios on {len(WIRES)} wires, natively (N) and by Lua script (L):"
        f" {sum(_plays(s, w) for s in scenarios for w in WIRES.values())} rows. A number is a note below: the scenario"
        " says nothing about that wire.",
    ]
    for group in dict.fromkeys(scenario.group for scenario in scenarios):
        lines += ["", f"### {group}", "", f"| scenario | {' | '.join(TITLES[name] for name in WIRES)} |"]
        lines.append("|---|" + "---|" * len(WIRES))
        for scenario in scenarios:
            if scenario.group == group:
                cells = " | ".join(_cell(scenario, wired, notes) for wired in WIRES.values())
                lines.append(f"| {_told(scenario)} | {cells} |")
    lines += ["", "### Notes", "", *(f"{number}. {note[0].upper()}{note[1:]}." for number, note in enumerate(notes, 1))]
    return "\n".join(lines)


def _plays(scenario: Scenario, wired: Wired) -> int:
    return 0 if scenario.why_not(wired) else sum(name == wired.name for name, _ in PATHS)


def _told(scenario: Scenario) -> str:
    faults = f" ({', '.join(scenario.faults)})" if scenario.faults else ""
    return f"{scenario.what}{faults}".replace("|", "\\|")


def _cell(scenario: Scenario, wired: Wired, notes: list[str]) -> str:
    if why := scenario.why_not(wired):
        if why not in notes:
            notes.append(why)
        return str(notes.index(why) + 1)
    letters = {NATIVE: "N", LUA: "L"}
    played = [path for name, path in PATHS if name == wired.name and (name, path, scenario.name) not in AWAITED]
    return " ".join(letters[path] for path in played)


def main() -> None:
    """Write it into the document."""
    text = DOCUMENT.read_text("utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    DOCUMENT.write_text(f"{before}{BEGIN}\n{table()}\n{END}{after}", "utf-8")


if __name__ == "__main__":
    main()
