"""A plugin for another platform or a later homed is told apart before it is started."""

from __future__ import annotations

import pytest

from homed.host.suits import misfit
from homed.wire.manifest import Manifest


@pytest.mark.parametrize(
    ("needed", "core", "runs"),
    [
        ("", "0.1.0", True), ("0.1", "0.1.0", True), ("0.1.0", "0.1", True), ("0.1.0", "0.1.0.dev3", True),
        ("0.1.1", "0.1.0", False), ("0.10", "0.9.9", False), ("0.9.9", "0.10", True), ("1", "0.99", False),
    ],
)  # fmt: skip
def test_a_version_is_compared_number_by_number(needed: str, core: str, runs: bool) -> None:
    said = misfit(Manifest("p", "1", "python -m p", min_version=needed), core=core, platform="linux")
    assert said == ("" if runs else f"The plugin p needs homed {needed} or later, and this is {core}.")


@pytest.mark.parametrize(
    ("platforms", "runs"), [((), True), (("linux",), True), (("darwin", "linux"), True), (("darwin", "win32"), False)]
)
def test_no_platforms_means_any_else_it_must_be_among_them(platforms: tuple[str, ...], runs: bool) -> None:
    said = misfit(Manifest("p", "1", "python -m p", platforms=platforms), core="0.1.0", platform="linux")
    assert said == ("" if runs else "The plugin p runs on darwin, win32, and this is linux.")
