"""The pages themselves, rendered here; their scripts only keep them alive."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quart import Blueprint, Response, g, request

from homed.errors import HomedError, NotFound

from . import usage
from .api_chat import PAGE, ChatApi
from .context import Site, who
from .pages_kept import KeptPages
from .pages_ledger import LedgerPages
from .pages_memory import MemoryPages
from .pages_tending import TendingPages
from .presets import PRESETS

THREADS = 60
"""Threads in the side bar; search finds the others."""

LOG_LINES = 200


class Pages:
    """``/``, ``/t/THREAD``, ``/plugins``, ``/plugins/NAME``, ``/models``, ``/settings``, ``/usage`` and ``/health``."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._chat = ChatApi(site)

    def blueprint(self) -> Blueprint:
        """These routes."""
        made = Blueprint("pages", __name__)
        made.before_request(self._place)
        made.add_url_rule("/", "new", self.new)
        made.add_url_rule("/t/<thread>", "thread", self.thread)
        made.add_url_rule("/plugins", "plugins", self.plugins)
        made.add_url_rule("/plugins/<name>", "plugin", self.plugin)
        made.add_url_rule("/models", "models", self.models)
        made.add_url_rule("/settings", "settings", self.settings)
        made.add_url_rule("/usage", "usage", self.usage)
        made.add_url_rule("/health", "health", self.health)
        KeptPages(self._site, self._render).add_to(made)
        for part in (MemoryPages, LedgerPages, TendingPages):
            part(self._site, self._render).add_to(made)
        return made

    def _place(self) -> None:
        """Where the stream is before a page is made: what comes while it is, or before its own begins, is told then."""
        g.cursor = self._site.hub.cursor(self._site.hub.latest)

    async def new(self) -> Response:
        """A conversation that has not begun."""
        return await self._render("chat.html", "chat", talk=None, persona=await self._persona())

    async def thread(self, thread: str) -> Response:
        """A conversation with its latest page of history."""
        try:
            history = await self._site.call("io.history", thread=thread, limit=PAGE)
        except NotFound:
            return await self._render("missing.html", "chat", status=404)
        cursor = self._site.hub.cursor(history["seq"])
        return await self._render("chat.html", "chat", talk=self._chat.shown({**history, "cursor": cursor}))

    async def plugins(self) -> Response:
        """Every plugin: its state and why, its crashes, start and stop."""
        found = await self._site.call("admin.plugins")
        return await self._render("plugins.html", "plugins", plugins=found["plugins"])

    async def plugin(self, name: str) -> Response:
        """One plugin: what it offers and may do, its settings, its crashes and its log."""
        try:
            found = await self._site.call("plugin_mgr.info", name=name)
        except NotFound:
            return await self._render("plugin_missing.html", "plugins", status=404, name=name)
        settings = await self._site.call("admin.config_list", prefix=f"plugin.{name}.")
        log = await self._site.call("admin.plugin_logs", name=name, limit=LOG_LINES)
        return await self._render(
            "plugin.html", "plugins", plugin=described(found), settings=settings["settings"], log=log["lines"]
        )

    async def models(self) -> Response:
        """The model sources and their keys, which go in and never come out."""
        found = await self._site.call("admin.models_list")
        return await self._render("models.html", "models", sources=found["sources"])

    async def settings(self) -> Response:
        """The settings by category."""
        found = await self._site.call("admin.config_list")
        groups: dict[str, list[Any]] = {}
        for setting in found["settings"]:
            groups.setdefault(setting.get("category") or "other", []).append({**setting, "find": self._find(setting)})
        return await self._render("settings.html", "settings", groups=groups, persona=await self._persona())

    def _find(self, setting: Mapping[str, Any]) -> str:
        """All that a setting is called, in every language: what its search looks in."""
        key, name, about = str(setting["key"]), str(setting.get("name") or ""), str(setting["description"])
        called = [text for words in self._site.words.values() for text in words.kernel.setting(key, name, about)]
        return " ".join([key, *dict.fromkeys(called)])

    async def _persona(self) -> Mapping[str, Any]:
        """Who the assistant is, with suggestions; where it is not to be known, nobody is asked."""
        nothing: dict[str, Any] = {"text": "", "place": "", "ask": False, "presets": []}
        if not who().owner:
            return nothing
        try:
            return {**nothing, **await self._site.call("admin.persona_get", lang=self._site.lang().lang)}
        except HomedError:
            return nothing

    async def usage(self) -> Response:
        """What models cost, by day, source, model and kind, and the prices that is reckoned with."""
        asked = request.args.get("days", "")
        range_ = int(asked) if asked.isascii() and asked.isdigit() and int(asked) in usage.RANGES else 30
        found = await self._site.call("admin.usage", days=range_)
        shown = spent(found, range_, money=request.args.get("in") == "money")
        return await self._render("usage.html", "usage", **shown)

    async def health(self) -> Response:
        """What the daemon finds when it looks at itself; its script asks, as some checks take a while."""
        return await self._render("health.html", "health")

    async def _render(self, template: str, place: str, *, status: int = 200, **values: object) -> Response:
        threads = await self._site.call("io.threads", limit=THREADS)
        return self._site.page(
            template,
            status=status,
            place=place,
            threads=threads["threads"],
            daemon=await self._daemon(),
            presets=PRESETS,
            owner=who().owner,
            cursor=g.cursor,
            **values,
        )

    async def _daemon(self) -> Mapping[str, Any]:
        """What every page says of the daemon; a page that shows a conversation does not fail for it."""
        if not who().owner:
            return daemon_of({})
        try:
            return daemon_of(await self._site.call("admin.status"))
        except HomedError as error:
            return daemon_of({"model": {"hint": error.message}})


def spent(found: Mapping[str, Any], range_: int, *, money: bool) -> dict[str, Any]:
    """`admin.usage` as its template shows it."""
    rows, today, limits = found["days"], found["today"], found["limits"]
    threads, named = found["threads"], usage.ranked
    return {
        "range": range_, "ranges": usage.RANGES, "limits": limits, "today": today, "kept": found["kept"],
        "tokens_today": usage.gauge(today["tokens"], limits["day_tokens"], today["times"]),
        "money_today": usage.gauge(today["money"], limits["day_money"], today["times"]),
        "chart": usage.chart(found, money=money), "wide": usage.WIDE, "high": usage.HIGH, "total": usage.sums(rows),
        "by": {by: usage.bars(rows, by) for by in usage.GROUPS},
        "threads_spent": named((one["thread"], usage.sums(one["spent"])) for one in threads),
        "titles": {one["thread"]: one["title"] for one in threads},
        "who": named((one["who"], usage.sums(one["spent"])) for one in found["who"]),
        "peers": named((one["peer"], usage.sums(one["spent"])) for one in found["peers"]),
        "prices": found["prices"],
    }  # fmt: skip


def daemon_of(status: Mapping[str, Any]) -> dict[str, Any]:
    """`admin.status` with every field that the templates name; one that is not owner is told nothing of it."""
    model = {"configured": True, "source": "", "model": "", "hint": "", "kind": "", "state": "", "note": ""}
    storage = {"state": "ok", "reason": "", "kept": ""}
    facts: dict[str, Any] = {"version": "", "data_dir": "", "started_at": 0, "counts": {}, "plugins": []}
    return {
        **facts,
        **status,
        "model": {**model, **(status.get("model") or {})},
        "storage": {**storage, **(status.get("storage") or {})},
    }


def described(found: Mapping[str, Any]) -> dict[str, Any]:
    """`plugin_mgr.info` with every field that the template names, also where the manifest cannot be read."""
    lists = ("tools", "stages", "inputs", "outputs", "capabilities", "errors", "needs", "cleaners")
    texts = ("author", "license", "homepage", "repository", "entry")
    return {**dict.fromkeys(texts, ""), **{key: [] for key in lists}, **found}
