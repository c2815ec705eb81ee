"""What the kernel offers once it is up, by name: the words that a manifest's ``needs`` may use.

Which kernel module provides which, and in what order they come up, is the kernel's (``homed.host.facilities``).
"""

from __future__ import annotations

FACILITIES = frozenset(
    {
        "config", "store", "settings", "identity", "events", "blocks", "window", "cold", "graph", "facts", "ledger",
        "embedder", "index", "scenes", "usermodel", "knowledge", "llm", "stages", "tools", "outputs", "scheduler",
        "segment", "ring",
    }
)  # fmt: skip
"""Every facility that a kernel of this version knows; it need not offer all of them."""
