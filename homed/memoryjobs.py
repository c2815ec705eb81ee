"""The jobs that make memories and tidy them, put together.

Below ``engine``, which loads this when there is something to make a memory of (``homed.jobs.late``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from homed.agent.complete import Completions
from homed.agent.conversations import Conversations
from homed.jobs.distil import DistilPorts, distil
from homed.jobs.extract import Extractor
from homed.jobs.job import Job
from homed.jobs.judging import JudgingPorts, judging
from homed.jobs.making import by_rules
from homed.jobs.model import Background, BackgroundPorts
from homed.jobs.passing import PassPorts, passing
from homed.jobs.statements import StatementPorts, statements
from homed.jobs.storing import Topics
from homed.lifecycle import House
from homed.providers.registry import Sources


@dataclass(frozen=True, slots=True, kw_only=True)
class MakingPorts:
    """What they touch.  ``stored``: called when something was made, which has no vector yet."""

    house: House
    conversations: Conversations
    sources: Sources
    completions: Completions
    stored: Callable[[], None]
    topics: Topics


def memory_jobs(ports: MakingPorts) -> Mapping[str, Job]:
    """Each by its name; they ask a model by turns, through one gate."""
    house, stored, topics = ports.house, ports.stored, ports.topics
    store, settings, wall, points = house.store, house.settings, house.wall, house.failpoints
    background = Background(
        BackgroundPorts(
            sources=ports.sources, completions=ports.completions, settings=settings, store=store, wall=wall,
            turns=ports.conversations,
        )
    )  # fmt: skip
    reader = Extractor(background, store, settings)
    made = (
        passing(
            PassPorts(
                store=store, settings=settings, wall=wall, reader=reader, rules=by_rules, bus=house.bus,
                failpoints=points, stored=stored, topics=topics,
            )
        ),
        distil(
            DistilPorts(
                store=store, settings=settings, wall=wall, reader=reader, rules=by_rules, failpoints=points,
                stored=stored, topics=topics,
            )
        ),
        statements(StatementPorts(store=store, reader=reader, rules=by_rules, wall=wall, stored=stored)),
        judging(JudgingPorts(store=store, wall=wall, background=background, failpoints=points)),
    )  # fmt: skip
    return {job.name: job for job in made}
