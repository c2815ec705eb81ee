"""Recordings: to a model that hears as they are, to others described; told by their bytes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from homed.agent.sounds import RECORDING_BYTES, RECORDINGS, sound
from homed.agent.uploads import PIECE, Piece
from homed.providers.base import User
from tests.homed.agent.test_attachments import seen, send
from tests.kit.builders import OWNER, Agent, FakeModel, Setup, running_agent

WAV = b"RIFF\x24\x00\x00\x00WAVEfmt " + bytes(60)
MP3 = b"ID3\x04" + bytes(200)


@pytest.mark.parametrize(
    ("declared", "head", "kind"),
    [
        ("audio/x-wav", WAV, "audio/wav"),
        ("audio/mp3", MP3, "audio/mpeg"),
        ("audio/mpeg", b"\xff\xfb\x90", "audio/mpeg"),
        ("audio/ogg", b"OggS", "audio/ogg"),
        ("audio/flac", b"fLaC", "audio/flac"),
        ("audio/aiff", b"FORM\0\0\0\0AIFF", "audio/aiff"),
        ("audio/wav", b"hello", ""),
        ("text/plain", WAV, ""),
        ("audio/wav", b"", ""),
    ],
)
def test_is_told_by_its_first_bytes(declared: str, head: bytes, kind: str) -> None:
    assert sound(declared, head) == kind


def hearing() -> FakeModel:
    model = FakeModel()
    model._source = replace(model.source, audio=True)
    return model


async def upload(agent: Agent, data: bytes, name: str) -> str:
    id_ = ""
    for at in range(0, len(data), PIECE):
        last = at + PIECE >= len(data)
        piece = Piece(data=data[at : at + PIECE], upload=id_, name=name, media_type="audio/wav", last=last)
        id_, _ = await agent.uploads.receive(OWNER, piece)
    return id_


async def test_a_recording_goes_to_a_model_that_hears(tmp_path: Path) -> None:
    async with running_agent(tmp_path, Setup(model=hearing())) as agent:
        await send(agent, "what is said?", await upload(agent, WAV, "note.wav"))
        (said,) = seen(agent.model.requests[0])
        assert [(one.media_type, one.data) for one in said.audio] == [("audio/wav", WAV)]
        assert "[recording note.wav, audio/" in said.text


async def test_to_others_it_is_described(tmp_path: Path) -> None:
    async with running_agent(tmp_path) as agent:
        await send(agent, "what is said?", await upload(agent, WAV, "note.wav"))
        (said,) = seen(agent.model.requests[0])
        assert said.audio == ()
        assert "cannot be sent such recordings" in said.text


async def test_the_newest_go_and_none_that_is_too_large(tmp_path: Path) -> None:
    async with running_agent(tmp_path, Setup(model=hearing())) as agent:
        large = WAV + bytes(RECORDING_BYTES)
        ids = [await upload(agent, data, f"{n}.wav") for n, data in enumerate([WAV, MP3, large, WAV + b"1"])]
        thread = ""
        for id_ in ids:
            thread = (await send(agent, "listen", id_, thread=thread)).thread
        users = [message for message in agent.model.requests[-1].messages if isinstance(message, User)]
        assert [len(user.audio) for user in users] == [0, 1, 0, 1]
        assert sum(len(user.audio) for user in users) == RECORDINGS
        assert "shown earlier" in users[0].text
        assert "too large" in users[2].text
