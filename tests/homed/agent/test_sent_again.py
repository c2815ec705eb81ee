"""A message that is sent again, where what would keep a new one out stands in its way."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from homed.agent.background import MOST_A_MINUTE
from homed.agent.lanes import QUEUE
from homed.errors import Unavailable
from tests.kit.builders import OWNER, FakeModel, Setup, hangs, message, running_agent


async def test_what_is_sent_again_is_the_first_also_where_there_is_no_room_for_a_new_one(tmp_path: Path) -> None:
    """E42: whoever heard no answer sends it again, and must not be told that it was not taken."""
    async with running_agent(tmp_path, Setup(model=FakeModel(hangs()))) as agent:
        first = await agent.conversations.inject(OWNER, message("go", client_msg_id="m0"))
        for number in range(1, QUEUE + 1):
            said = message("more", thread=first.thread.id, client_msg_id=f"m{number}")
            last = await agent.conversations.inject(OWNER, said)
        with pytest.raises(Unavailable, match="are waiting"):
            await agent.conversations.inject(OWNER, replace(said, client_msg_id="another"))
        again = await agent.conversations.inject(OWNER, said)
        assert (again.duplicate, again.input.id) == (True, last.input.id)
        assert agent.conversations.counts["queued"] == QUEUE


async def test_news_that_are_sent_again_are_the_first_and_not_too_many(tmp_path: Path) -> None:
    model = FakeModel(hangs(), hangs())
    async with running_agent(tmp_path, Setup(model=model)) as agent:
        first = await agent.conversations.inject(OWNER, message("go"))
        await model.hanging.wait()
        await agent.conversations.interrupt(OWNER, message("wait", thread=first.thread.id), 2)
        news = message("the terminal says something", thread=first.thread.id, client_msg_id="n1")
        one, *_ = await agent.conversations.interrupt(OWNER, news, 1)
        for _ in range(MOST_A_MINUTE + 1):
            again, *_ = await agent.conversations.interrupt(OWNER, news, 1)
            assert (again.duplicate, again.input.id) == (True, one.input.id)
        with pytest.raises(Unavailable, match="waits in this conversation already"):
            await agent.conversations.interrupt(OWNER, replace(news, client_msg_id="n2"), 1)
