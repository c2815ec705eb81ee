"""The places a model can come from: the page's list is the kernel's."""

from __future__ import annotations

from homed.providers import presets as kernel
from plugins.webui.asked import Source, read
from plugins.webui.presets import PRESETS


def test_the_page_has_the_same_list_as_the_kernel() -> None:
    ours = [
        (p.name, p.title, p.keys, p.base_url, p.model, p.adapter, p.window, p.at_once, p.vision, p.audio, p.options)
        for p in PRESETS
    ]
    theirs = [
        (
            s.name, p.title, p.keys, s.base_url, s.model, s.adapter, s.context_window, s.max_concurrent, s.vision,
            s.audio, dict(s.options),
        )
        for p in kernel.PRESETS
        for s in [p.source]
    ]  # fmt: skip
    assert ours == theirs


def test_every_preset_is_a_source_that_only_lacks_a_key() -> None:
    assert len({preset.name for preset in PRESETS}) == len(PRESETS)
    for preset in PRESETS:
        assert read(Source, {"name": preset.name, "base_url": preset.base_url, "model": preset.model})
        assert preset.base_url.startswith("https://") or "127.0.0.1" in preset.base_url
        assert preset.keys.startswith("https://") or "127.0.0.1" in preset.base_url
