"""HTTP of scripts: through homed, bounded, and to the source's own server alone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest
import trio
from trio.testing import MockClock

from homed.errors import HomedError
from homed.providers.base import ProviderError, Source
from homed.providers.lua.fetch import LIMIT, MAX_BODY, Fetch
from tests.homed.providers.kit import ask
from tests.homed.providers.lua.kit import HELLO, open_lua
from tests.kit.fake_openai import open_fake_openai

SOURCE = Source("test", "http://own/v1", "m")


class Server(httpx2.AsyncBaseTransport):
    """Answers with what it heard."""

    def __init__(self, wait: float = 0.0, size: int = 0) -> None:
        self.heard: list[httpx2.Request] = []
        self._wait, self._size = wait, size

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.heard.append(request)
        await trio.sleep(self._wait)
        body = b"x" * self._size or b"key " + request.headers.get("x-key", "").encode()
        headers = {"location": "http://evil/", "echo": request.headers.get("x-key", "")}
        return httpx2.Response(302, headers=headers, content=body)


@pytest.fixture
async def fetched() -> AsyncIterator[tuple[Server, Fetch]]:
    server = Server()
    async with httpx2.AsyncClient(transport=server) as client:
        yield server, Fetch(client, SOURCE, "SECRETKEY")


async def test_the_key_is_put_in_and_taken_out_again(fetched: tuple[Server, Fetch]) -> None:
    server, fetch = fetched
    said = await fetch.serve("http_post", ["http://own/token", '{"a":1}', {"X-Key": "t {api_key}"}])
    assert server.heard[0].headers["x-key"] == "t SECRETKEY"
    assert server.heard[0].content == b'{"a":1}'
    assert isinstance(said, dict)
    assert (said["status"], said["body"], said["headers"]["echo"]) == (302, "key t {api_key}", "t {api_key}")


async def test_a_redirect_is_not_followed(fetched: tuple[Server, Fetch]) -> None:
    server, fetch = fetched
    await fetch.serve("http_get", ["http://own/x", {}])
    assert len(server.heard) == 1


@pytest.mark.parametrize(
    "given",
    [
        ["http://evil/", {}], ["https://own/", {}], ["http://own:81/", {}], [None, {}], [],
        ["http://own/?k={api_key}", {}],
        ["http://own/", {"a\n": "b"}], ["http://own/", "headers"], ["http://own/", {"a": "b\r\nc: d"}],
    ],
)  # fmt: skip
async def test_what_is_not_allowed_is_not_asked(fetched: tuple[Server, Fetch], given: list[object]) -> None:
    server, fetch = fetched
    with pytest.raises(HomedError, match="http_get"):
        await fetch.serve("http_get", given)
    assert not server.heard


async def test_what_is_too_much_is_refused(fetched: tuple[Server, Fetch]) -> None:
    _, fetch = fetched
    with pytest.raises(HomedError, match="http_post"):
        await fetch.serve("http_post", ["http://own/", "x" * (MAX_BODY + 1), {}])
    async with httpx2.AsyncClient(transport=Server(size=MAX_BODY + 1)) as client:
        with pytest.raises(HomedError, match="over"):
            await Fetch(client, SOURCE, "").serve("http_get", ["http://own/", {}])


async def test_it_has_an_end(autojump_clock: MockClock) -> None:
    async with httpx2.AsyncClient(transport=Server(wait=LIMIT + 1)) as client:
        with pytest.raises(HomedError, match="no answer within"):
            await Fetch(client, SOURCE, "").serve("http_get", ["http://own/", {}])


async def test_a_script_may_ask_before_it_answers(tmp_path: Path) -> None:
    async with open_lua(tmp_path) as lua, open_fake_openai() as fake:
        lua.write(
            "mine",
            HELLO + "\nlocal usual = transform_request\nfunction transform_request(r, s)\n"
            '  local found = http_get(s.base_url .. "/models", { Authorization = "Bearer {api_key}" })\n'
            "  assert(found.status == 200, found.status)\n"
            "  s.model = json.decode(found.body).data[1].id\n  return usual(r, s)\nend",
        )
        source = Source("test", fake.url, "unknown", adapter="lua:mine")
        assert (await ask(lua.provider(source, fake.key))).text
        assert fake.chats[-1].body["model"] == fake.model
        with pytest.raises(ProviderError, match=r"mine\.lua:16: 401"):
            await ask(lua.provider(source, "wrong"))


async def test_a_script_that_asks_without_end_is_stopped(tmp_path: Path) -> None:
    async with open_lua(tmp_path) as lua, open_fake_openai() as fake:
        lua.write(
            "mine", HELLO + '\nfunction transform_request(r, s) while true do http_get(s.base_url .. "/models") end end'
        )
        with pytest.raises(ProviderError, match="more than 8 requests"):
            await ask(lua.provider(Source("test", fake.url, "m", adapter="lua:mine"), fake.key))
