"""How vectors are made: shown without the key, tried with one question that keeps nothing, and set in one change."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import httpx2
import trio

from homed.config.definitions import (
    EMBEDDING,
    EMBEDDING_API_KEY,
    EMBEDDING_BASE_URL,
    EMBEDDING_BASELINE,
    EMBEDDING_DIMENSIONS,
    EMBEDDING_FOLDER,
    EMBEDDING_KEY_FILE,
    EMBEDDING_MODEL,
    EMBEDDING_MODEL_PATH,
)
from homed.config.secrets import key_of
from homed.errors import ConfigError, InvalidInput
from homed.jobs.console.ports import ConsolePorts
from homed.memory import figures
from homed.net import open_http
from homed.retrieval.embed.choice import Endpoint
from homed.retrieval.embed.failed import EmbedFailed
from homed.retrieval.embed.remote import RemoteEmbedder

PROBE_LIMIT = 15.0
"""Seconds that trying an endpoint may take."""

OFF, AUTO, ENDPOINT = "off", "auto", "endpoint"


@dataclass(frozen=True, slots=True)
class Place:
    """An endpoint to try or to use; None is as it is set.  ``api_key`` '' is none."""

    base_url: str | None = None
    model: str | None = None
    dimensions: int | None = None
    api_key: str | None = None


class Embedding:
    """For owners; no key ever comes back."""

    def __init__(self, ports: ConsolePorts) -> None:
        self._ports = ports

    async def get(self) -> Mapping[str, object]:
        """The result of ``admin.embedding_get``."""
        settings, ports = self._ports.settings, self._ports
        space = ports.embedder.current.space if ports.embedder.current else None
        counted = await ports.store.read(lambda tx: figures.vectors(tx, space.fingerprint if space else ""))
        return {
            "enabled": settings.str(EMBEDDING) != OFF, "embedding": settings.str(EMBEDDING),
            "base_url": settings.str(EMBEDDING_BASE_URL), "model": settings.str(EMBEDDING_MODEL),
            "dimensions": settings.int(EMBEDDING_DIMENSIONS), "folder": settings.str(EMBEDDING_FOLDER),
            "word_vectors": settings.str(EMBEDDING_MODEL_PATH), "baseline": settings.float(EMBEDDING_BASELINE),
            "key_file": settings.str(EMBEDDING_KEY_FILE), "hasKey": await self._has_key(),
            "places": {key: view.place for key in _KEYS if (view := settings.view(key)).place},
            "embedder": dict(ports.embedder.standing.as_row()),
            "fingerprint": space.fingerprint if space else "", "dims": space.dims if space else 0,
            "trouble": ports.dense.trouble, "progress": _progress(counted),
        }  # fmt: skip

    async def probe(self, place: Place) -> Mapping[str, object]:
        """The result of ``admin.embedding_probe``: one question, nothing is kept.

        The stored key is sent to its own address alone.  Raises InvalidInput where no address or model is known.
        """
        endpoint = await self._endpoint(place)
        if not endpoint.base_url or not endpoint.model:
            raise InvalidInput("An address and a model are needed to ask for a vector.")
        if endpoint.key:
            self._ports.know([endpoint.key])
        begun, came = trio.current_time(), list[int]()
        answer: dict[str, object] = {
            "ok": False,
            "reachable": False,
            "embeds": False,
            "dims": 0,
            "error": "",
            "hint": "",
        }
        try:
            with trio.fail_after(PROBE_LIMIT):
                async with open_http(self._ports.transport) as http:
                    http.event_hooks = {"response": [_noting(came)]}
                    space = await RemoteEmbedder(endpoint, http, till=self._ports.till).prepare()
        except EmbedFailed as error:
            answer |= {"error": error.message, "hint": error.hint}
        except trio.TooSlowError:
            answer |= {"error": f"It did not answer within {PROBE_LIMIT:g} s."}
        else:
            answer |= {"ok": True, "embeds": True, "dims": space.dims}
        return {**answer, "reachable": bool(came), "ms": round(1000 * (trio.current_time() - begun))}

    async def set(
        self, place: Place, *, enabled: bool | None = None, embedding: str | None = None
    ) -> Mapping[str, object]:
        """The result of ``admin.embedding_set``: one change of all, the key with it; vectors are made anew beside.

        ``embedding``: which of the kinds; without it an address and a model that are given mean the endpoint.  A key
        stays with the address it was given for.  Raises ConfigError for what does not fit, Conflict where a value is
        given from outside.
        """
        changes, settings = dict[str, object](), self._ports.settings
        for key, value in (
            (EMBEDDING_BASE_URL, place.base_url), (EMBEDDING_MODEL, place.model),
            (EMBEDDING_DIMENSIONS, place.dimensions), (EMBEDDING_API_KEY, place.api_key),
        ):  # fmt: skip
            if value is not None:
                changes[key] = value
        if kind := self._kind(place, enabled, embedding):
            changes[EMBEDDING] = kind
        if place.api_key == "":
            changes[EMBEDDING_API_KEY] = None
        elif place.api_key is None and self._elsewhere(place):
            changes |= {key: None for key in _FOR_THERE if settings.view(key).source == "stored"}
        if not changes:
            raise InvalidInput("Nothing is to be changed.")
        await settings.change(changes)
        self._ports.dense.wake()
        return await self.get()

    def _kind(self, place: Place, enabled: bool | None, embedding: str | None) -> str:
        now = self._ports.settings.str(EMBEDDING)
        if embedding is not None:
            return embedding
        if enabled is False:
            return OFF
        if place.base_url and (place.model or self._ports.settings.str(EMBEDDING_MODEL)):
            return ENDPOINT if enabled or now != AUTO else now
        return AUTO if enabled and now == OFF else ""

    def _elsewhere(self, place: Place) -> bool:
        """Whether it is another address than the one that is set."""
        given = _plain(place.base_url or "")
        return bool(given) and given != _plain(self._ports.settings.str(EMBEDDING_BASE_URL))

    async def _endpoint(self, place: Place) -> Endpoint:
        settings, elsewhere = self._ports.settings, self._elsewhere(place)
        address = _plain(place.base_url or "") if elsewhere else _plain(settings.str(EMBEDDING_BASE_URL))
        key = place.api_key
        if key is None:
            key = "" if elsewhere else await self._key()
        model = settings.str(EMBEDDING_MODEL) if place.model is None or not place.model.strip() else place.model
        dims = settings.int(EMBEDDING_DIMENSIONS) if place.dimensions is None else place.dimensions
        return Endpoint(address, model.strip(), dims, key.strip())

    async def _key(self) -> str:
        settings = self._ports.settings
        key = settings.str(EMBEDDING_API_KEY).strip()
        file = settings.str(EMBEDDING_KEY_FILE).strip()
        if key or not file:
            return key
        return await trio.to_thread.run_sync(key_of, file)

    async def _has_key(self) -> bool:
        try:
            return bool(await self._key())
        except ConfigError:
            return False


_KEYS = (
    EMBEDDING, EMBEDDING_API_KEY, EMBEDDING_BASE_URL, EMBEDDING_BASELINE, EMBEDDING_DIMENSIONS, EMBEDDING_FOLDER,
    EMBEDDING_KEY_FILE, EMBEDDING_MODEL, EMBEDDING_MODEL_PATH,
)  # fmt: skip


_FOR_THERE = (EMBEDDING_API_KEY, EMBEDDING_KEY_FILE)
"""What belongs to the address that is set."""


def _plain(address: str) -> str:
    return address.strip().rstrip("/")


def _noting(came: list[int]) -> Callable[[httpx2.Response], Awaitable[None]]:
    """For each answer its status is noted: whoever answers can be reached, whatever it says."""

    async def note(response: httpx2.Response) -> None:
        came.append(response.status_code)
        await trio.lowlevel.checkpoint()

    return note


def _progress(counted: Mapping[str, Any]) -> dict[str, int]:
    """Of all that is to have vectors in the space of now."""
    kinds = counted["kinds"].values()
    done, waiting, failed = (sum(one[name] for one in kinds) for name in ("have", "waiting", "failed"))
    return {"done": done, "total": done + waiting, "failed": failed, "foreign": counted["foreign"]}
