"""Arguments of a tool call, checked against its schema before anything runs.  Pure.

Models send ``"5"`` for 5 and ``"true"`` for true; that is put right.  Everything else that does not fit is refused,
with the field, the reason and a hint, so that the model can do better.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from homed.agent.results import refusal

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

ERRORS = 100
"""Errors that are looked at for the one that is told."""

SHOWN = 200
"""Characters of an offending value that are shown back."""


@dataclass(frozen=True, slots=True)
class Checked:
    """Either arguments fit to run with, or the refusal for the model."""

    arguments: Mapping[str, object]
    refusal: str = ""


def check(
    schema: Mapping[str, object], arguments: Mapping[str, object] | None, raw: str = "", *, unseen: bool = False
) -> Checked:
    """Coerce gently, then validate.  ``arguments`` None means that ``raw`` could not be decoded.

    ``unseen``: whoever calls was not told of the schema.  It comes back with a refusal, and arguments that it does not
    know are refused even where it would let them pass: they were guessed.
    """
    checked = _checked(schema, arguments, raw)
    if unseen and not checked.refusal:
        properties = schema.get("properties")
        known = properties if isinstance(properties, Mapping) else {}
        guessed = [name for name in checked.arguments if name not in known] if _closed(schema) else []
        if guessed:
            checked = Checked({}, refusal("undeclared", field=guessed[0], hint=_hint("", schema)))
    if unseen and checked.refusal:
        told = json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
        return Checked({}, f"{checked.refusal}\nNothing was run. Its arguments are: {told}")
    return checked


def _closed(schema: Mapping[str, object]) -> bool:
    """Whether arguments besides the declared ones mean nothing."""
    return "patternProperties" not in schema and schema.get("additionalProperties", False) is False


def _checked(schema: Mapping[str, object], arguments: Mapping[str, object] | None, raw: str) -> Checked:
    if arguments is None:
        return Checked(
            {},
            refusal(
                "undecodable",
                detail=f"The arguments were not one JSON object: {raw[:SHOWN]}",
                hint="Nothing was run. Call again with the arguments as one valid JSON object; {} for none.",
            ),
        )
    from jsonschema.exceptions import UnknownType  # with all it needs a tenth of a start, and no start calls a tool
    from referencing.exceptions import Unresolvable

    from homed.agent.validating import Endless, validator

    coerced = _coerce(schema, arguments)
    given = coerced if isinstance(coerced, dict) else dict(arguments)
    try:
        found = islice(validator(schema).iter_errors(given), ERRORS)
        errors = sorted(found, key=lambda e: list(map(str, e.absolute_path)))
    except (UnknownType, Unresolvable, Endless, RecursionError) as error:
        return Checked({}, refusal("bad_schema", detail=str(error)[:SHOWN], hint="The tool's own schema is wrong."))
    if errors:
        return Checked({}, _refused(errors[0], schema))
    return Checked(given)


def _refused(error: ValidationError, schema: Mapping[str, object]) -> str:
    path = ".".join(str(part) for part in error.absolute_path)
    reason = str(error.validator)
    field = path
    if reason == "required":
        wanted = error.validator_value if isinstance(error.validator_value, list) else []
        given = error.instance if isinstance(error.instance, dict) else {}
        missing = [str(name) for name in wanted if name not in given]
        field = ".".join(filter(None, [path, missing[0] if missing else ""]))
    return refusal(reason, field=field, detail=error.message[:SHOWN], hint=_hint(field, schema))


def _hint(field: str, schema: Mapping[str, object]) -> str:
    properties = schema.get("properties")
    known = properties if isinstance(properties, dict) else {}
    about = known.get(field.split(".")[0])
    if isinstance(about, dict):
        told = {key: about[key] for key in ("type", "enum", "minimum", "maximum", "description") if key in about}
        return f"{field.split('.')[0]}: {told}"
    return f"Known arguments: {', '.join(known) or 'none'}."


def _types(schema: Mapping[str, object]) -> list[str]:
    found = schema.get("type")
    if isinstance(found, list):
        return [str(one) for one in found]
    if isinstance(found, str):
        return [found]
    options = schema.get("anyOf")
    return [t for o in options if isinstance(o, Mapping) for t in _types(o)] if isinstance(options, list) else []


def _coerce(schema: object, value: object) -> object:
    """``value`` with strings made what the schema wants, where that is beyond doubt."""
    if not isinstance(schema, Mapping):
        return value
    if isinstance(value, Mapping):
        properties = schema.get("properties")
        known = properties if isinstance(properties, Mapping) else {}
        return {key: _coerce(known.get(key), one) for key, one in value.items()}
    if isinstance(value, list):
        return [_coerce(schema.get("items"), one) for one in value]
    types = _types(schema)
    if isinstance(value, str) and types and "string" not in types:
        return _from_string(types, value)
    if isinstance(value, float) and value.is_integer() and "integer" in types and "number" not in types:
        return int(value)
    return value


def _from_string(types: list[str], value: str) -> object:
    text = value.strip()
    if "boolean" in types and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if "integer" in types and text.lstrip("+-").isascii() and text.lstrip("+-").isdigit() and len(text) < 20:
        return int(text)
    if "number" in types:
        try:
            number = float(text)
        except ValueError:
            return value
        return number if number - number == 0 else value  # not nan, not infinite
    if "null" in types and text.lower() in ("null", "none", ""):
        return None
    return value
