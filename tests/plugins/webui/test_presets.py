"""The places a model can come from."""

from __future__ import annotations

from plugins.webui.asked import Source, read
from plugins.webui.presets import PRESETS


def test_every_preset_is_a_source_that_only_lacks_a_key() -> None:
    assert len({preset.name for preset in PRESETS}) == len(PRESETS)
    for preset in PRESETS:
        assert read(Source, {"name": preset.name, "base_url": preset.base_url, "model": preset.model})
        assert preset.base_url.startswith("https://") or "127.0.0.1" in preset.base_url
        assert preset.keys.startswith("https://") or "127.0.0.1" in preset.base_url
