"""A small process that uploads, sends, deletes, and is killed at it; driven as `turn_child` is.

Each message of the order is a conversation of its own: two files are uploaded in pieces (the second one the same in
every conversation), sent with the message, and once it is answered the conversation before it is deleted.  What is done
already, as the answers that were seen say (``done.log``), is not done again; an upload that a crash took is made again.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import trio

from homed.agent.uploads import Piece
from homed.errors import NotFound
from homed.failpoints import Failpoints, NoFailpoints
from homed.memory.records import InputState
from tests.kit.builders import OWNER, Agent, FakeModel, Setup, message, running_agent
from tests.kit.failpoints import KillAt
from tests.kit.turn_child import LIMIT, Order, note, serve

PIECES = 3
SHARED = b"the same in every conversation"


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
    files = (await upload(agent, f"{text}.txt", content(text)), await upload(agent, "shared.txt", SHARED))
    given = message(text, client_msg_id=text, attachments=files)
    receipt = await agent.conversations.inject(OWNER, given)
    note(folder, "accepted.log", text)
    done = await agent.conversations.wait(OWNER, receipt.input.id)
    assert done.state is InputState.ANSWERED
    return done.thread


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
                if deleting:
                    with suppress(NotFound):  # it was done when the crash came
                        await agent.conversations.delete(OWNER, deleting)
                    note(folder, "done.log", f"deleted {order.messages[order.messages.index(text) - 1]}")


if __name__ == "__main__":
    serve(run)
