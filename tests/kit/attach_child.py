"""A small process that uploads, sends, deletes, and is killed at it; driven as `turn_child` is.

Each message of the order is a conversation of its own: two files are uploaded in pieces (the second one, a picture, the
same in every conversation), sent with the message, and once it is answered they are looked into, and the conversation
before it is deleted.  What is done
already, as the answers that were seen say (``done.log``), is not done again; an upload that a crash took is made again.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC
from pathlib import Path

import trio

from homed.agent.uploads import Piece
from homed.errors import NotFound
from homed.failpoints import Failpoints, NoFailpoints
from homed.jobs.eyes import Look
from homed.jobs.job import JobPorts, Run
from homed.jobs.looking import PICTURE
from homed.jobs.seeing import SeeingPorts, see, seeing
from homed.memory.records import InputState
from homed.store.files import MediaFiles
from tests.kit.builders import OWNER, Agent, FakeModel, Setup, message, running_agent
from tests.kit.failpoints import KillAt
from tests.kit.turn_child import LIMIT, Order, note, serve

PIECES = 3
SHARED = b"\x89PNG\r\n\x1a\nthe same in every conversation"
SMALL = b"small and the same"


def content(text: str) -> bytes:
    """The first file of a message: what it says, in pieces enough to be killed between."""
    return f"file of {text}\n".encode() * 100


async def upload(agent: Agent, name: str, data: bytes) -> str:
    """One file in pieces; its id."""
    size = -(-len(data) // PIECES)
    id_ = ""
    for at in range(0, len(data), size):
        last = at + size >= len(data)
        piece = Piece(data=data[at : at + size], upload=id_, name=name, offset=at, last=last)
        id_, _ = await agent.uploads.receive(OWNER, piece)
    return id_


async def send(agent: Agent, folder: Path, text: str) -> str:
    """Upload, send, wait; the thread."""
    files = (await upload(agent, f"{text}.txt", content(text)), await upload(agent, "shared.png", SHARED))
    given = message(text, client_msg_id=text, attachments=files)
    receipt = await agent.conversations.inject(OWNER, given)
    note(folder, "accepted.log", text)
    done = await agent.conversations.wait(OWNER, receipt.input.id)
    assert done.state is InputState.ANSWERED
    return done.thread


class Eyes:
    """See the same in every picture."""

    async def look(self, data: bytes, kind: str) -> Look:
        assert (data, kind) == (SHARED, PICTURE)
        await trio.lowlevel.checkpoint()
        return Look(SMALL, "words of the picture")


async def look_into(agent: Agent, folder: Path, failpoints: Failpoints) -> None:
    """One run of the job that looks into files."""
    ports = SeeingPorts(
        store=agent.store, files=MediaFiles(folder / "media"), keeper=agent.uploads, eyes=Eyes(), redact=str,
        failpoints=failpoints,
    )  # fmt: skip
    job_ports = JobPorts(store=agent.store, wall=lambda: 1.0, zone=lambda: UTC, turns=agent.conversations)
    await see(Run(seeing(ports), job_ports, {}), ports)


async def run(order: Order) -> None:
    """One child's life."""
    folder = Path(order.folder)
    failpoints: Failpoints = KillAt(order.kill, order.nth) if order.kill else NoFailpoints()
    log = folder / "done.log"
    seen = log.read_text().splitlines() if log.exists() else []
    with trio.fail_after(LIMIT):
        async with running_agent(folder, Setup(model=FakeModel(), failpoints=failpoints)) as agent:
            before = ""
            for text in order.messages:
                if f"deleted {text}" in seen:
                    continue
                before, deleting = await send(agent, folder, text), before
                await look_into(agent, folder, failpoints)
                if deleting:
                    with suppress(NotFound):  # it was done when the crash came
                        await agent.conversations.delete(OWNER, deleting)
                    note(folder, "done.log", f"deleted {order.messages[order.messages.index(text) - 1]}")


if __name__ == "__main__":
    serve(run)
