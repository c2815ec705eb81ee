"""A real browser on a real daemon with a scripted model.

The daemon is one a module, as starting it takes seconds; each test talks in conversations of its own.
"""

from __future__ import annotations

import secrets
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
import trio
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect, sync_playwright

from tests.kit.daemon import PATIENCE, VECTORS, Daemon, until
from tests.kit.fake_openai import FakeOpenAI, fake_openai_thread
from tests.plugins.webui.standin import OWNER, StandIn, serve

IDLE = [
    "WebUIOmniboxPopup", "WebUIOmniboxAimPopup",  # the address bar's own two pages: 0.6 s of a core for each window
    "SpareRendererForSitePerProcess",  # a process in reserve, which few of our short visits come to use
    # Chromium knows the last list only, so these are of Playwright's own what may matter here.
    "AvoidUnnecessaryBeforeUnloadCheckSync", "DestroyProfileOnBrowserClose", "HttpsUpgrades",
    "HttpsFirstBalancedModeAutoEnable", "LensOverlay", "MediaRouter", "PaintHolding", "ThirdPartyStoragePartitioning",
    "OptimizationHints", "NetworkTimeServiceQuerying", "AimEnabled", "PreconnectToSearch",
]  # fmt: skip
"""What of Chromium no test looks at, though every page would pay for it."""

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", f"--disable-features={','.join(IDLE)}",
]  # fmt: skip


def ready(page: Page) -> Page:
    """The same page once its scripts listen."""
    expect(page.locator("html[data-ready]")).to_be_attached()
    return page


def enter(page: Page, link: str) -> Page:
    """Come in by a login link.  The login page is ready before it has posted the secret, so the chat has to show."""
    page.goto(link)
    expect(page.locator("#say")).to_be_visible()
    return ready(page)


def caught(page: Page, held: list[Route]) -> Route:
    """The first request that a route has held.  It comes here some time after what the page shows for it."""
    until(lambda: page.evaluate("true") and held, what="the request")
    return held[0]


def copied(page: Page, text: str) -> None:
    """Wait until this is in the clipboard, into which a button writes after its click is over."""
    until(lambda: page.evaluate("navigator.clipboard.readText()") == text, what=f"{text[:40]!r} in the clipboard")


@dataclass
class Visitor:
    """Somebody's browser: opens pages, and remembers what no page may do."""

    context: BrowserContext
    url: str
    faults: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def open(self, path: str = "/") -> Page:
        """A new tab at a path of the daemon's page."""
        page = self.context.new_page()
        page.on("pageerror", lambda error: self.faults.append(f"script: {error}"))
        page.on("console", lambda message: self.faults.append(message.text) if message.type == "error" else None)
        page.on("request", lambda request: self.requests.append(request.url))
        page.goto(self.url + path)
        ready(page)
        return page

    def check(self) -> None:
        """No script failed, the policy was never broken, nothing was asked from elsewhere."""
        assert [fault for fault in self.faults if not fault.startswith("Failed to load resource")] == []
        assert [url for url in self.requests if not url.startswith(self.url)] == []


Visit = Callable[..., Visitor]


class Chromium:
    """One browser for all modules of pages that follow one another: its start takes more than a second of a core.

    It is there no longer than they are, since Playwright's loop stays set in the thread in which it works.
    """

    def __init__(self) -> None:
        self._open = ExitStack()
        self._browser: Browser | None = None

    def running(self) -> Browser:
        """The browser; a new one where there is none, or where it has crashed."""
        if self._browser is None or not self._browser.is_connected():
            self.end()
            executable = shutil.which("chromium") or shutil.which("chromium-browser")
            expect.set_options(timeout=PATIENCE * 1000 / 2)
            playwright = self._open.enter_context(sync_playwright())
            self._browser = playwright.chromium.launch(executable_path=executable, args=FLAGS)
            self._open.callback(self._browser.close)
        return self._browser

    def end(self) -> None:
        """Leave nothing of it."""
        self._browser = None
        self._open.close()


CHROMIUM = pytest.StashKey[Chromium]()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Once all that a module made is gone: where no page comes next, there is no browser any more."""
    if nextitem is None or (item.path != nextitem.path and "browser" not in getattr(nextitem, "fixturenames", ())):
        _end_chromium(item.config)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Where the session was stopped, nobody knew that no page would come."""
    _end_chromium(session.config)


def _end_chromium(config: pytest.Config) -> None:
    if CHROMIUM in config.stash:
        config.stash[CHROMIUM].end()


@pytest.fixture(scope="module")
def browser(request: pytest.FixtureRequest) -> Iterator[Browser]:
    """The same for several modules, with windows of one's own (``visiting``), of which none outlives the module."""
    chromium = request.config.stash.setdefault(CHROMIUM, Chromium()).running()
    yield chromium
    for context in chromium.contexts if chromium.is_connected() else ():
        context.close()


@pytest.fixture(scope="module")
def model() -> Iterator[FakeOpenAI]:
    with fake_openai_thread() as fake:
        yield fake


@pytest.fixture(scope="module")
def daemon(model: FakeOpenAI, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with Daemon(tmp_path_factory.mktemp("home") / "data", env={VECTORS: "off"}) as running:
        running.ask("admin.models_add", name="fake", base_url=model.url, model=model.model, api_key=model.key)
        yield running


@pytest.fixture(scope="module")
def session(browser: Browser, daemon: Daemon) -> Any:
    """The cookies of somebody who has come in by the link."""
    context = browser.new_context()
    enter(context.new_page(), daemon.new_link())
    state = context.storage_state()
    context.close()
    return state


@contextmanager
def visiting(browser: Browser, url: str, **options: Any) -> Iterator[Visitor]:
    """A browser of one's own, checked at the end."""
    context = browser.new_context(**options)
    context.set_default_timeout(PATIENCE * 1000 / 2)
    visitor = Visitor(context, url)
    try:
        yield visitor
        visitor.check()
    finally:
        context.close()


@pytest.fixture
def visitor(browser: Browser, daemon: Daemon, session: Any) -> Iterator[Visitor]:
    with visiting(browser, daemon.url, storage_state=session) as made:
        yield made


@pytest.fixture
def page(visitor: Visitor) -> Page:
    """A new conversation in the browser of the owner."""
    return visitor.open()


class Served:
    """The page on a stand-in kernel, in a thread of its own.  ``do`` runs something where the kernel lives."""

    def __init__(self, kernel: StandIn) -> None:
        self.kernel = kernel
        self.port = 0
        self._up = threading.Event()
        self._scope = trio.CancelScope()
        self._token: trio.lowlevel.TrioToken | None = None
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Served:
        self._thread.start()
        assert self._up.wait(PATIENCE)
        return self

    def __exit__(self, *_: object) -> None:
        self.do(self._scope.cancel)
        self._thread.join(PATIENCE)

    @property
    def url(self) -> str:
        """Without a slash at the end."""
        return f"http://127.0.0.1:{self.port}"

    def come_in(self) -> list[Any]:
        """The cookies of a new session of the owner's: to leave it ends nobody else's."""
        session = f"session-{secrets.token_hex(16)}"
        self.kernel.sessions[session] = OWNER
        return [{"name": f"homed_session_{self.port}", "value": session, "url": self.url}]

    def do(self, act: Callable[[], object]) -> None:
        """Run ``act`` in the kernel's thread, and wait until it is done: what comes next finds it so."""
        assert self._token is not None
        done = threading.Event()

        def run() -> None:
            act()
            done.set()

        self._token.run_sync_soon(run)
        assert done.wait(PATIENCE)

    def _run(self) -> None:
        async def main() -> None:
            self._token = trio.lowlevel.current_trio_token()
            with self._scope:
                await serve(self.kernel, 0, self._started)

        trio.run(main)

    def _started(self, port: int) -> None:
        self.port = port
        self._up.set()


@contextmanager
def at(browser: Browser, served: Served, **options: Any) -> Iterator[Visitor]:
    """The owner's browser on a stand-in's page, in a session of its own."""
    with visiting(browser, served.url, **options) as visitor:
        visitor.context.add_cookies(served.come_in())
        yield visitor
