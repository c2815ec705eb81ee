"""The browser that several modules share: one that crashed fails no module but its own, and nothing of it stays."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest
from playwright.sync_api import Error

from tests.e2e.conftest import Chromium

pytestmark = [pytest.mark.chromium, pytest.mark.slow]


def test_it_is_one_until_it_crashes_and_leaves_no_loop_behind() -> None:
    chromium = Chromium()
    try:
        first = chromium.running()
        assert chromium.running() is first
        with suppress(Error):  # which it cannot answer any more
            first.new_browser_cdp_session().send("Browser.crash")
        second = chromium.running()
        assert second is not first
        page = second.new_page()
        assert page.evaluate("6 * 7") == 42
    finally:
        chromium.end()
    assert asyncio._get_running_loop() is None
    chromium.end()
