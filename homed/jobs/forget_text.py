"""A text taken out of what is no memory: the reasons of thresholds, what plugins wrote before they crashed.

The rows stay, for who looks when and how a threshold was moved; the words go.  No wish of it is stored, since that
would hold the text itself: whoever is cut off asks again.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import trio

from homed.clock import new_id
from homed.jobs import proof
from homed.jobs.proof import Proof
from homed.memory import forgets, needles

if TYPE_CHECKING:
    from homed.jobs.forget import ForgetPorts


async def forget_text(ports: ForgetPorts, text: str) -> Proof:
    """Take it out, in whatever capitals, and look for it in every file.

    ``removed`` of the proof: rows that were changed, by table.  Raises StorageError; cancelled, the rows are changed or
    are not, and nothing is proven.
    """
    begun = trio.current_time()
    counts, spellings = await ports.store.write(partial(forgets.blank_text, text=text))
    ports.failpoints.reach("forget.text")
    emptied = await proof.emptied(ports.store)
    sought = needles.of_texts((), names={text, *spellings})
    found, scrubbed, lines, said, problem = await proof.look(ports.search, ports.store, ports.data, sought)
    if emptied is None:
        problem = problem or "Something reads the database all the time, so its log could not be emptied."
    return Proof(
        id=new_id("forget"), kind="text", removed={name: number for name, number in counts.items() if number},
        sentences=len(sought.sentences), short=0 if sought.sentences else 1, files=found.files, bytes=found.bytes,
        scrubbed=scrubbed + (emptied or 0), log_lines=lines, found=found.by_file, said=said, unread=found.unread,
        copies=await trio.to_thread.run_sync(proof.copies, ports.data), problem=problem,
        ms=round(1000 * (trio.current_time() - begun)),
    )  # fmt: skip
