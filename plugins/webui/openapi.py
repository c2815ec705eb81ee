"""The OpenAPI document, made from the table of routes and the models.  Slow to load: only `schemas` imports it."""

from __future__ import annotations

import re
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from homed.wire.version import CORE

from . import answered, answered_kept, answered_memory, answered_settings, answered_v1, asked, asked_memory, asked_v1
from .files import FORMS
from .guard import MEMORY_HEADER
from .route import JSON, Route
from .routes import EVERY_ROUTE

REFUSALS: dict[int, str] = {
    400: "What was asked is not as described here.",
    401: "No session and no key, or one that no longer holds.",
    403: "Not allowed: from another page, or beyond the key's scopes.",
    404: "There is no such thing, or it is not yours to see.",
    408: "The body did not come in time.",
    409: "It clashes with what is there.",
    413: "The body is too large.",
    415: "Not JSON, or for a file no media type.",
    421: "The Host is no name of this page.",
    429: "Too much at once; Retry-After says when to come back.",
    500: "A fault of ours; the log has it.",
    502: "A plugin failed.",
    503: "Not now.",
    504: "It took too long.",
    507: "The disk is full or fails.",
}  # fmt: skip
"""Status → when any route answers with it."""
ABOUT = "Every change needs a session's cookie and this page's Origin, or an API key.  See docs/api.md."
SESSION = "Set by the login.  Its real name ends in the port, as cookies do not tell ports apart."
REF = "#/components/schemas/{model}"


def document() -> dict[str, Any]:
    """The document.  Takes some 100 ms: once."""
    schemas = _schemas()
    paths: dict[str, dict[str, Any]] = {}
    for route in EVERY_ROUTE:
        paths.setdefault(route.prefix + route.path, {})[route.method.lower()] = _operation(route, schemas)
    refused = {"description": "Refused.", "content": _content(JSON, {"$ref": REF.format(model="Problem")})}
    return {
        "openapi": "3.1.0",
        "info": {"title": "homed", "version": CORE, "description": ABOUT, "license": {"name": "AGPL-3.0-only"}},
        "paths": paths,
        "components": {
            "schemas": schemas,
            "responses": {"Problem": refused},
            "securitySchemes": {
                "session": {"type": "apiKey", "in": "cookie", "name": "homed_session", "description": SESSION},
                "key": {"type": "http", "scheme": "bearer", "description": "hk_…, made with `homed keys add`."},
            },
        },
    }  # fmt: skip


def _answer(name: str) -> type[BaseModel]:
    """The model of an answer, in whichever of the modules it stands."""
    for room in (answered, answered_settings, answered_kept, answered_memory):
        if hasattr(room, name):
            found: type[BaseModel] = getattr(room, name)
            return found
    last: type[BaseModel] = getattr(answered_v1, name)
    return last


def _asked(name: str) -> type[BaseModel]:
    found = getattr(asked, name, None) or getattr(asked_memory, name, None) or getattr(asked_v1, name)
    model: type[BaseModel] = found
    return model


def _schemas() -> dict[str, Any]:
    models: dict[str, type[BaseModel]] = {"Problem": answered.Problem, "V1Problem": answered_v1.V1Problem}
    for route in EVERY_ROUTE:
        models |= {name: _asked(name) for name in (route.query, route.body) if name}
        models |= {route.answer: _answer(route.answer)} if route.answer else {}
    _, made = models_json_schema([(model, "validation") for model in models.values()], ref_template=REF)
    found: dict[str, Any] = made["$defs"]
    return found


def _operation(route: Route, schemas: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {
        "operationId": route.name,
        "summary": route.summary,
        "tags": [route.room],
        "security": _security(route),
        "parameters": [*_path(route), *_query(route, schemas), *_headers(route)],
        "responses": _responses(route),
    }
    if route.scope in ("any", "chat", "memory", "admin"):
        made["x-scope"] = route.scope
    if route.takes == "json":
        made["requestBody"] = {"required": True, "content": _content(JSON, {"$ref": REF.format(model=route.body)})}
    elif route.takes == "file":
        file = {"type": "string", "format": "binary", "minLength": 1, "maxLength": route.limit}
        made["requestBody"] = {"required": True, "content": _content("application/octet-stream", file)}
        made["requestBody"]["description"] = (
            f"The bytes, with their own media type; none of {', '.join(sorted(FORMS))}."
        )
    return made


def _security(route: Route) -> list[dict[str, list[str]]]:
    if route.scope == "open":
        return []
    if route.by_key:
        return [{"key": []}]
    return [{"session": []}] if route.scope == "session" else [{"session": []}, {"key": []}]


def _responses(route: Route) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for status, meaning in route.statuses.items():
        found[str(status)] = {"description": meaning}
        if status != 101:
            schema = {"$ref": REF.format(model=route.answer)} if route.answer else {}
            found[str(status)]["content"] = {kind: {"schema": schema} if schema else {} for kind in route.kinds}
    refused = {"$ref": REF.format(model="V1Problem" if route.by_key else "Problem")}
    for status, meaning in REFUSALS.items():
        found[str(status)] = {"description": meaning, "content": _content(JSON, refused)}
    for status in route.refusals:
        found[str(status)] = {"$ref": "#/components/responses/Problem"}
    found["429"]["headers"] = {"Retry-After": {"schema": {"type": "integer", "minimum": 1}, "description": "Seconds."}}
    return found


def _content(kind: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {kind: {"schema": schema}}


def _path(route: Route) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "string", "minLength": 1}
            | ({"enum": list(route.choices[name])} if name in route.choices else {}),
        }
        for name in re.findall(r"{(\w+)}", route.path)
    ]


def _query(route: Route, schemas: dict[str, Any]) -> list[dict[str, Any]]:
    if not route.query:
        return []
    model = schemas.pop(route.query, None) or _asked(route.query).model_json_schema(ref_template=REF)
    required = model.get("required", [])
    return [
        {"name": name, "in": "query", "required": name in required, "schema": _plain(schema)}
        for name, schema in model["properties"].items()
    ]


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    """A parameter that is absent is absent: no null in a query."""
    if "anyOf" in schema:
        kept = [part for part in schema["anyOf"] if part != {"type": "null"}]
        rest = {key: value for key, value in schema.items() if key not in ("anyOf", "default")}
        return {**rest, **kept[0]} if len(kept) == 1 else {**rest, "anyOf": kept}
    return schema


def _headers(route: Route) -> list[dict[str, Any]]:
    if route.name == "events":
        return [
            {"name": "Last-Event-ID", "in": "header", "schema": {"type": "string"}, "description": "Where to go on."}
        ]
    if route.changes_memory:
        about = "Says that a change of memory is meant."
        meant = {"type": "string", "const": "1"}
        return [{"name": MEMORY_HEADER, "in": "header", "required": True, "schema": meant, "description": about}]
    if route.takes == "file":
        named = {"type": "string", "minLength": 1, "maxLength": 1800, "pattern": r"^[A-Za-z0-9._~!*'()%-]+$"}
        about = "The file's name in UTF-8, percent-encoded."
        return [{"name": "X-File-Name", "in": "header", "required": True, "schema": named, "description": about}]
    return []
