"""From a client's "stop" to the daemon's word that nothing more of the turn will come, over the terminal socket."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import Figure, median_ms, p99_ms
from benchmarks.stopping import ANSWER, SLOW, Stopper
from tests.kit.house import House, house

ROUNDS = 50


def measure() -> Iterator[Figure]:
    """Beside a call that does nothing but go there and back."""
    with tempfile.TemporaryDirectory() as folder, house(Path(folder) / "data") as home:
        home.fake.when(SLOW, ANSWER)
        with home.link() as link:
            found = Stopper(link).rounds(ROUNDS)
        name = f"a stop, until nothing more comes (p99 {p99_ms(found.acknowledged):.1f} ms, {len(found.late)} late)"
        yield Figure(name, median_ms(found.acknowledged), median_ms(_round_trips(home)), "a call that does nothing")


def _round_trips(home: House) -> list[float]:
    taken = []
    with home.link() as link:
        for _ in range(ROUNDS):
            begun = time.perf_counter()
            link.call("approvals", {})
            taken.append(time.perf_counter() - begun)
    return taken
