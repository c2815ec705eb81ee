"""More of the stand-in kernel: files, evidence, why, keys, and what it finds when it looks at itself."""

from __future__ import annotations

import base64
import time
from typing import Any

from homed.errors import Conflict, Denied, InvalidInput, NotFound

FAR = 1_700_000_000.0


class Files:
    """``io.upload`` and ``io.block``."""

    def __init__(self) -> None:
        self.uploads: dict[str, dict[str, Any]] = {}
        self.blocks: dict[str, dict[str, Any]] = {}

    def io_upload(
        self, peer: str, name: str, media_type: str, data: str, last: bool, upload: str = "", offset: int | None = None
    ) -> dict[str, Any]:
        if not upload:
            upload = f"up{len(self.uploads) + 1}"
            self.uploads[upload] = {"name": name, "media_type": media_type, "content": b"", "last": False}
        known = self.uploads[upload]
        if offset not in (None, len(known["content"])):
            raise InvalidInput("A piece is missing.")
        known["content"] += base64.b64decode(data)
        known["last"] = last
        return {"upload": upload, "bytes": len(known["content"])}

    def io_upload_cancel(self, peer: str, upload: str) -> dict[str, Any]:
        self.uploads.pop(upload, None)
        return {}

    def take(self, uploads: list[str]) -> list[dict[str, Any]]:
        """The blocks that these uploads become."""
        taken = []
        for upload in uploads:
            if not self.uploads.get(upload, {}).get("last"):
                raise NotFound("There is no such upload.")
            known = self.uploads.pop(upload)
            taken.append(self.put(known["name"], known["media_type"], known["content"]))
        return taken

    def put(self, name: str, media_type: str, content: bytes) -> dict[str, Any]:
        """A block with these bytes, as a history names it."""
        block = {"id": f"b{len(self.blocks) + 1}", "name": name, "media_type": media_type, "bytes": len(content)}
        self.blocks[str(block["id"])] = {**block, "content": content}
        return block

    def io_block(
        self, peer: str, block: str, offset: int = 0, length: int = 1 << 20, small: bool = False
    ) -> dict[str, Any]:
        if block not in self.blocks:
            raise NotFound("There is no such file.")
        known = self.blocks[block]
        if small and "small" in known:
            known = {**known, "media_type": "image/webp", "bytes": len(known["small"]), "content": known["small"]}
        else:
            small = False
        data = base64.b64encode(known["content"][offset : offset + length]).decode()
        shown = {key: known[key] for key in ("name", "media_type", "bytes")}
        return {**shown, "offset": offset, "small": small, "data": data}


class Memory:
    """``io.event`` and ``memory.explain``: what `remember` was told."""

    def __init__(self) -> None:
        self.remembered: dict[str, dict[str, Any]] = {}
        self.part = 200_000
        """Characters of an event that one answer gives at most."""
        self.why: dict[str, list[dict[str, Any]]] = {}

    def remember(self, id_: str, text: str, *, title: str = "Autumn clean-up", **more: Any) -> str:
        """An event of another conversation."""
        known = {"kind": "user", "peer": "webui:owner", "thread": "th0", "created_at": FAR, "layer": "cold", "seq": 1}
        self.remembered[id_] = {**known, "turn": "turn0", "title": title, "text": text, "data": {}, **more}
        return id_

    def io_event(self, peer: str, event: str, offset: int = 0, length: int = 200_000) -> dict[str, Any]:
        length = min(length, self.part)
        if event not in self.remembered:
            raise NotFound("There is no such event.")
        known = self.remembered[event]
        shown = {key: known[key] for key in ("seq", "thread", "turn", "kind", "peer", "created_at", "layer", "data")}
        text = str(known["text"])
        return {
            "event": {"id": event, **shown},
            "text": text[offset : offset + length],
            "offset": offset,
            "of": len(text),
        }

    def memory_explain(self, peer: str, turn: str) -> dict[str, Any]:
        keys = ("kind", "peer", "thread", "title", "created_at", "layer")
        events = {
            id_: {**{key: known[key] for key in keys}, "excerpt": str(known["text"])[:200]}
            for id_, known in self.remembered.items()
        }
        return {"turn": turn, "thread": "", "at": FAR, "entries": self.why.get(turn, []), "events": events}


class Keys:
    """``admin.keys_*`` and ``admin.doctor``."""

    def __init__(self) -> None:
        self.api_keys: list[dict[str, Any]] = []
        self.checks: list[dict[str, Any]] = [
            {"name": "store", "state": "ok", "what": "The database is whole.", "hint": ""},
        ]

    def admin_keys_list(self, peer: str) -> dict[str, Any]:
        shown = ("name", "peer", "scopes", "created_at", "used_at")
        return {"keys": [{field: key[field] for field in shown} for key in self.api_keys]}

    def admin_keys_add(self, peer: str, name: str, scopes: list[str]) -> dict[str, Any]:
        if any(key["name"] == name for key in self.api_keys):
            raise Conflict(f"There is a key {name!r} already.")
        if not scopes:
            raise InvalidInput("A key needs at least one scope.")
        key = f"hk_{'k' * 33}{len(self.api_keys):010}"
        made = {"name": name, "peer": "webui:owner", "scopes": scopes, "created_at": time.time(), "used_at": None}
        self.api_keys.append({**made, "key": key})
        return {"name": name, "key": key, "scopes": scopes}

    def admin_keys_remove(self, peer: str, name: str) -> dict[str, Any]:
        if all(key["name"] != name for key in self.api_keys):
            raise NotFound(f"There is no key {name!r}.")
        self.api_keys = [key for key in self.api_keys if key["name"] != name]
        return {}

    def auth_key(self, key: str) -> dict[str, Any]:
        for known in self.api_keys:
            if known["key"] == key:
                return {"peer": "webui:owner", "role": "owner", "name": known["name"], "scopes": known["scopes"]}
        raise Denied("This key does not hold.")

    def admin_doctor(self, peer: str) -> dict[str, Any]:
        return {"checks": self.checks}
