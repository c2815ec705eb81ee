"""``plugin_mgr.*``: install, look at, change and remove plugins, for owners."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import Field

from homed.api.method import MAX_NAME, Method, PeerCall, PeerParams, administrative
from homed.errors import Conflict
from homed.host.discover import Broken
from homed.host.review import capabilities_to_wire, described
from homed.host.states import PluginStatus, Trust
from homed.wire.methods import CAPABILITIES, PACKAGED_ONLY

_MAX_PATH = 4096


class OfPlugin(PeerParams):
    """``plugin_mgr.info``, ``reload``, ``enable`` and ``disable``"""

    name: str = Field(min_length=1, max_length=MAX_NAME)


class OfFile(PeerParams):
    """``plugin_mgr.review``"""

    path: str = Field(min_length=1, max_length=_MAX_PATH)


class Install(OfFile):
    """``plugin_mgr.install``"""

    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    grant: list[str] = Field(max_length=len(CAPABILITIES))
    source: str = Field(default="", max_length=1024)


class Remove(OfPlugin):
    """``plugin_mgr.remove``"""

    keep_data: bool


class Grant(OfPlugin):
    """``plugin_mgr.grant``"""

    capabilities: list[str] = Field(max_length=len(CAPABILITIES))


def list_(call: PeerCall[PeerParams]) -> Mapping[str, object]:
    """Every plugin and its state."""
    return {"plugins": [status.wire() for status in call.ports.host.statuses()]}


async def review(call: PeerCall[OfFile]) -> Mapping[str, object]:
    """What a package is and wants; nothing is installed."""
    return (await call.ports.packages.review(Path(call.params.path))).wire()


async def install(call: PeerCall[Install]) -> Mapping[str, object]:
    """Install the package that was reviewed, and run it."""
    params = call.params
    path = Path(params.path)
    return told(await call.ports.packages.install(path, params.sha256, params.grant, params.source or path.name))


async def remove(call: PeerCall[Remove]) -> Mapping[str, object]:
    """End and delete an external plugin."""
    await call.ports.packages.remove(call.params.name, keep_data=call.params.keep_data)
    return {}


async def reload(call: PeerCall[OfPlugin]) -> Mapping[str, object]:
    """Read a plugin's folder again."""
    _not_itself(call, "reload")
    return told(await call.ports.packages.reload(call.params.name))


async def enable(call: PeerCall[OfPlugin]) -> Mapping[str, object]:
    """Let a disabled plugin run again."""
    return told(await call.ports.host.enable(call.params.name))


async def disable(call: PeerCall[OfPlugin]) -> Mapping[str, object]:
    """End a plugin and let it not run until it is enabled."""
    _not_itself(call, "disable")
    return told(await call.ports.host.disable(call.params.name))


async def grant(call: PeerCall[Grant]) -> Mapping[str, object]:
    """Set what an external plugin may do."""
    return told(await call.ports.packages.grant(call.params.name, call.params.capabilities))


async def info(call: PeerCall[OfPlugin]) -> Mapping[str, object]:
    """Everything about one plugin."""
    name = call.params.name
    status, found = call.ports.host.status(name), call.ports.host.found(name)
    external = status.trust is Trust.EXTERNAL
    shown: dict[str, object] = {"removable": external, "package": None}
    if external and (provenance := await call.ports.packages.provenance(name)) is not None:
        shown["package"] = {
            "version": provenance.version, "sha256": provenance.sha256, "source": provenance.source,
            "installed_at": provenance.installed_at,
        }  # fmt: skip
    if isinstance(found, Broken):
        return {**status.wire(), **shown, "errors": list(found.errors)}
    wanted = found.manifest.capabilities
    given = await call.ports.packages.granted(name) - PACKAGED_ONLY if external else frozenset(wanted)
    about = {key: value for key, value in described(found.manifest).items() if key != "tools"}
    return {
        **about, **status.wire(), **shown, "errors": [], "tools": described(found.manifest)["tools"],
        "capabilities": capabilities_to_wire(wanted, given),
        "settings": [f"plugin.{name}.{setting.key}" for setting in found.manifest.settings],
    }  # fmt: skip


def told(status: PluginStatus) -> dict[str, object]:
    """A plugin after a change, with what is true now and what there is to do, in one sentence."""
    return {**status.wire(), "note": note(status)}


def note(status: PluginStatus) -> str:
    """What a change came to: never a promise, only what is (a reload, a restart are named where they are needed)."""
    version = f"{status.name} {status.version}"
    match status.state.value:
        case "ready":
            return f"{version} runs. What it offers can be used from now on."
        case "lazy":
            return f"{version} is there and starts when it is first needed."
        case "waiting" | "starting":
            return f"{version} is there and not up yet: {status.reason or status.state.value}."
        case "disabled":
            return f"{version} is disabled and stays so until it is enabled: homed plugin enable {status.name}."
        case _:
            return f"{version} is there and does not run: {status.reason or status.state.value}"


def _not_itself(call: PeerCall[OfPlugin], verb: str) -> None:
    if call.params.name == call.caller.plugin:
        raise Conflict(
            f"{call.caller.plugin} cannot {verb} itself: nobody would be there to hear how it went.",
            hint=f"Ask from elsewhere: the page for cli, homed plugin {verb} {call.params.name} for the others.",
        )


METHODS: dict[str, Method] = {
    "plugin_mgr.list": administrative(PeerParams, list_),
    "plugin_mgr.review": administrative(OfFile, review),
    "plugin_mgr.install": administrative(Install, install),
    "plugin_mgr.remove": administrative(Remove, remove),
    "plugin_mgr.reload": administrative(OfPlugin, reload),
    "plugin_mgr.enable": administrative(OfPlugin, enable),
    "plugin_mgr.disable": administrative(OfPlugin, disable),
    "plugin_mgr.grant": administrative(Grant, grant, in_person=True),
    "plugin_mgr.info": administrative(OfPlugin, info),
}
