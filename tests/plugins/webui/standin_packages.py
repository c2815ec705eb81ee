"""The stand-in's part that manages plugins: a real review of real files, everything else in a list."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from homed.errors import Conflict, Denied, InvalidInput, NotFound
from homed.host.review import Machine, Present, review
from homed.host.states import Trust
from homed.wire.package import open_package


class Packages:
    """``plugin_mgr.*`` over ``plugins``, which the stand-in has."""

    plugins: list[dict[str, Any]]

    def post(self, type_: str, thread: str, turn: str, **data: object) -> None:
        """The stand-in's."""
        raise NotImplementedError

    def __init__(self) -> None:
        self.abouts: dict[str, dict[str, Any]] = {}
        self.installed: list[dict[str, Any]] = []

    def _one(self, name: str) -> dict[str, Any]:
        for plugin in self.plugins:
            if plugin["name"] == name:
                return plugin
        raise NotFound(f"There is no plugin {name!r}.")

    def _note(self, plugin: dict[str, Any], state: str) -> dict[str, Any]:
        plugin |= {"state": state, "reason": "", "pid": 4242 if state == "ready" else None}
        self.post("plugin_state", "", "", plugin=plugin["name"], state=state, reason="")
        return {**plugin, "note": f"{plugin['name']} {plugin['version']} runs. What it offers can be used from now on."}

    def plugin_mgr_info(self, peer: str, name: str) -> Any:
        plugin = self._one(name)
        blank: dict[str, Any] = {
            "author": "", "license": "", "homepage": "", "repository": "", "entry": "python x.py", "name_en": "",
            "activation": "eager", "stages": [], "inputs": [], "outputs": [], "capabilities": [], "settings": [],
            "errors": [], "package": None, "removable": plugin["trust"] == "external",
        }  # fmt: skip
        tools = [{"name": t, "description": "Does it.", "class": "read", "confirm": False} for t in plugin["tools"]]
        return {**blank, **plugin, "tools": tools, **self.abouts.get(name, {})}

    def plugin_mgr_review(self, peer: str, path: str) -> Any:
        package = open_package(Path(path))
        there = next((p for p in self.plugins if p["name"] == package.manifest.name), None)
        present = Present(there["version"], Trust(there["trust"])) if there else None
        return review(package, Machine("0.1.0", "linux"), present, {}).wire()

    def plugin_mgr_install(self, peer: str, path: str, sha256: str, grant: list[str], source: str) -> Any:
        if hashlib.sha256(Path(path).read_bytes()).hexdigest() != sha256:
            raise InvalidInput("It is not the file that was reviewed.")
        found = self.plugin_mgr_review(peer, path)
        if found["refused"]:
            raise Conflict(found["refused"])
        if beyond := [one["name"] for one in found["capabilities"] if one["name"] in grant and not one["allowed"]]:
            raise Denied(f"No plugin from outside can be granted {', '.join(beyond)}.")
        self.installed.append({"name": found["name"], "grant": grant, "source": source})
        plugin = {
            "name": found["name"], "name_zh": found["name_zh"], "version": found["version"], "trust": "external",
            "description": found["description"], "reason": "", "since": 1.0, "pid": 1, "crashes": [], "retry_at": None,
            "tools": [tool["name"] for tool in found["tools"]], "state": "ready",
        }  # fmt: skip
        self.abouts[found["name"]] = {
            key: found[key]
            for key in ("author", "license", "homepage", "repository", "tools", "stages", "inputs", "outputs")
        } | {
            "package": {"version": found["version"], "sha256": sha256, "source": source, "installed_at": 1.0},
            "capabilities": [{**one, "granted": one["name"] in grant} for one in found["capabilities"]],
        }
        self.plugins[:] = [p for p in self.plugins if p["name"] != found["name"]] + [plugin]
        return self._note(plugin, "ready")

    def plugin_mgr_grant(self, peer: str, name: str, capabilities: list[str]) -> Any:
        plugin = self._one(name)
        if plugin["trust"] != "external":
            raise Denied(f"The plugin {name} came with homed.")
        for one in self.abouts.get(name, {}).get("capabilities", []):
            one["granted"] = one["name"] in capabilities
        return self._note(plugin, "ready")

    def plugin_mgr_remove(self, peer: str, name: str, keep_data: bool) -> Any:
        if self._one(name)["trust"] != "external":
            raise Denied(f"The plugin {name} came with homed.")
        self.plugins[:] = [plugin for plugin in self.plugins if plugin["name"] != name]
        self.installed.append({"removed": name, "keep_data": keep_data})
        return {}

    def plugin_mgr_reload(self, peer: str, name: str) -> Any:
        return self._note(self._one(name), "ready")

    def plugin_mgr_enable(self, peer: str, name: str) -> Any:
        return self._note(self._one(name), "ready")

    def plugin_mgr_disable(self, peer: str, name: str) -> Any:
        return self._note(self._one(name), "disabled")
