"""What the page's tests share: its words and its templates, read and compiled once a process."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest

from plugins.webui.fragments import environment
from plugins.webui.words import load


@pytest.fixture(scope="session", autouse=True)
def _dressed_once() -> Iterator[None]:
    """Hundreds of sites are built here, and nothing ever changes either of the two.  Reading them anew is tested by
    ``test_words`` and ``test_fragments``, and by every page that is served in a process of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("plugins.webui.context.load", cache(load))
        patch.setattr("plugins.webui.context.environment", cache(environment))
        yield
