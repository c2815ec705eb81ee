"""What a running plugin registers, held against what its manifest says.  Pure: the host and ``check`` both ask it."""

from __future__ import annotations

from homed.wire.manifest import Manifest, StageSpec


def differences(manifest: Manifest, answer: object) -> list[str]:
    """Each difference of ``plugin.init``'s answer from the manifest, with field and entry named; ``[]`` if in step."""
    got = answer if isinstance(answer, dict) else {}
    declared = {
        "tools": {tool.name for tool in manifest.tools},
        "stages": {_stage(s.stage, s.scope, s.order, s.on_failure) for s in manifest.stages},
        "outputs": {output.name for output in manifest.outputs},
        "inputs": set(manifest.inputs),
        "cleaners": set(manifest.cleaners),
        "schedules": {schedule.name for schedule in manifest.schedules},
    }
    found: list[str] = []
    for field, wanted in declared.items():
        listed = got.get(field)
        names = {_registered(entry) for entry in listed} if isinstance(listed, list) else set()
        found += [f"{field}: {name} stands in plugin.json but is not registered" for name in sorted(wanted - names)]
        if field == "schedules" or (field == "tools" and manifest.dynamic_tools):
            continue  # it may set others while it runs
        found += [f"{field}: {name} is registered but does not stand in plugin.json" for name in sorted(names - wanted)]
    return found


def _registered(entry: object) -> str:
    if not isinstance(entry, dict):
        return str(entry)
    if "stage" not in entry:
        return str(entry.get("name"))
    usual = StageSpec("")
    more = (entry.get(key, getattr(usual, key)) for key in ("scope", "order", "on_failure"))
    return _stage(entry["stage"], *more)


def _stage(stage: object, scope: object, order: object, on_failure: object) -> str:
    return f"{stage} (scope {scope}, order {order}, on_failure {on_failure})"
