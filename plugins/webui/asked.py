"""What may be asked of the REST interface: one model for each body and each query (``routes.py`` names them).

Slow to load, so only `schemas` imports it.  A body is strict and knows its fields; a query's values are text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails

from homed.errors import InvalidInput

Asked = TypeVar("Asked", bound=BaseModel)

MAX_SAID = 100_000
"""Characters of one message."""
MAX_ATTACHED = 10
"""Files with one message."""
NEWEST = (1 << 63) - 1


class Body(BaseModel):
    """A JSON body."""

    model_config = ConfigDict(strict=True, extra="forbid", regex_engine="python-re", allow_inf_nan=False)


class Query(BaseModel):
    """The part of the address after ``?``; what is not known there is ignored."""

    model_config = ConfigDict(extra="ignore", regex_engine="python-re", allow_inf_nan=False)


def _whole(value: object) -> object:
    if isinstance(value, str):
        if not (value.isascii() and value.isdigit()):
            raise ValueError("must be a whole number")
        return int(value) if len(value) < 20 else NEWEST + 1  # Python reads no more than 4300 digits
    return value


def _integral(value: object) -> object:
    """JSON has one kind of number: 4096.0 is whole."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _decimal(value: object) -> object:
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            raise ValueError("must be a number") from None
    return value


WHOLE = BeforeValidator(_whole)  # last: a bound that stands after it would not be in the JSON schema
Decimal = Annotated[float, BeforeValidator(_decimal)]
Said = Annotated[str, Field(min_length=1, pattern=r"\S")]
Name = Annotated[Said, Field(max_length=100)]
Scope = Literal["chat", "memory", "admin"]


class Empty(Body):
    """``{}``: the route says it all."""


class Login(Body):
    """The secret of a login link, or the password."""

    model_config = ConfigDict(
        json_schema_extra={"oneOf": [{"required": ["secret"]}, {"required": ["password"]}]},
    )
    secret: Annotated[str, Field(min_length=1, max_length=2_000)] = ""
    password: Annotated[str, Field(min_length=1, max_length=2_000)] = ""

    @model_validator(mode="after")
    def _one(self) -> Login:
        if bool(self.secret) == bool(self.password):
            raise ValueError("either 'secret' or 'password' is needed")
        return self


class Say(Body):
    """A message: words, files, or both.  The same ``client_msg_id`` again gets the first one's input."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [
                {"required": ["text"], "properties": {"text": {"pattern": r"\S"}}},
                {"required": ["attachments"], "properties": {"attachments": {"minItems": 1}}},
            ]
        },
    )
    text: Annotated[str, Field(max_length=MAX_SAID)] = ""
    client_msg_id: Name
    thread: Annotated[str, Field(max_length=200)] = ""
    attachments: list[Annotated[str, Field(min_length=1, max_length=100)]] = Field(
        default_factory=list, max_length=MAX_ATTACHED
    )

    @model_validator(mode="after")
    def _something(self) -> Say:
        if not self.text.strip() and not self.attachments:
            raise ValueError("'text' is empty, and nothing is attached")
        return self


class ThreadOnly(Body):
    """Which thread."""

    thread: Annotated[Said, Field(max_length=200)]


class Title(Body):
    """A thread's new title."""

    title: Annotated[Said, Field(max_length=200)]


class Decision(Body):
    """A person's answer to what a tool wants to do."""

    decision: Literal["allow", "deny"]
    remember: Literal["once", "thread"] = "once"


class Source(Body):
    """A model source: a well-known one (``preset``), a service at ``base_url``, or a ``gguf`` file here.

    Without ``api_key`` a stored key stays; what else is not said is as in the preset.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [{"required": ["base_url", "model"]}, {"required": ["gguf"]}, {"required": ["preset"]}]
        },
    )
    name: Name
    base_url: Annotated[str, Field(pattern=r"^https?://\S", max_length=2_000)] = ""
    model: Annotated[Said, Field(max_length=200)] = ""
    gguf: Annotated[str, Field(pattern=r"^/", max_length=4_000)] = ""
    api_key: Annotated[str, Field(max_length=2_000)] = ""
    adapter: Annotated[str, Field(max_length=100)] = ""
    context_window: Annotated[int, Field(ge=1024, le=1 << 31), BeforeValidator(_integral)] | None = None
    priority: Annotated[int, Field(ge=-1000, le=1000), BeforeValidator(_integral)] | None = None
    max_concurrent: Annotated[int, Field(ge=1, le=256), BeforeValidator(_integral)] | None = None
    tools: bool | None = None
    vision: bool | None = None
    audio: bool | None = None
    options: dict[str, Any] | None = Field(default=None, description="Quirks of its server, by name.")
    preset: Annotated[str, Field(max_length=60)] = ""

    @model_validator(mode="after")
    def _somewhere(self) -> Source:
        if not self.gguf and not self.preset and not (self.base_url and self.model):
            raise ValueError(f"{'model' if self.base_url else 'base_url'!r} is missing")
        return self


class Place(Body):
    """Where models may be: a source there is, or what is to become one.  Without ``api_key`` the stored one asks."""

    name: Annotated[str, Field(max_length=60)] = ""
    preset: Annotated[str, Field(max_length=60)] = ""
    base_url: Annotated[str, Field(pattern=r"^https?://\S", max_length=2_000)] = ""
    adapter: Annotated[str, Field(max_length=100)] = ""
    api_key: Annotated[str, Field(max_length=2_000)] = ""


Reason = Annotated[str, Field(max_length=2_000)]


class Setting(Body):
    """A setting's new value; a threshold is only changed with a ``reason``, which is kept."""

    key: Annotated[Said, Field(max_length=200)]
    value: Any
    reason: Reason = ""


class SettingChanges(Body):
    """New values of several settings; null brings a default back.  ``reason`` as of one."""

    changes: Annotated[dict[Annotated[str, Field(max_length=200)], Any], Field(min_length=1, max_length=200)]
    reason: Reason = ""


class UsageQuery(Query):
    """How many days, today included."""

    days: Annotated[int, Field(ge=1, le=400), WHOLE] = 30


class PriceOf(Body):
    """A source and a model; ``*`` stands for every one."""

    source: Name
    model: Annotated[Said, Field(max_length=200)]


Amount = Annotated[str, Field(pattern=r"^[0-9]{1,7}(\.[0-9]{1,9})?\Z")]


class Price(PriceOf):
    """Money for a million tokens, as decimal numbers in text, which are exact; without ``cached`` as ``prompt``."""

    prompt: Amount
    completion: Amount
    cached: Amount | None = None
    currency: Annotated[str, Field(pattern=r"^[A-Z]{3}\Z")] = "USD"


class ChangesQuery(Query):
    """Which changes: ``before`` is the ``seq`` of one."""

    limit: Annotated[int, Field(ge=1, le=200), WHOLE] = 50
    before: Annotated[int, Field(ge=0, lt=1 << 53), WHOLE] | None = None
    thread: Annotated[str, Field(max_length=200)] = ""
    turn: Annotated[str, Field(max_length=200)] = ""


class EntriesQuery(Query):
    """From which file of the change on."""

    after: Annotated[int, Field(ge=0, le=10_000_000), WHOLE] = 0


class EntryQuery(Query):
    """Which file of the change."""

    number: Annotated[int, Field(ge=0, le=10_000_000), WHOLE]


class Rollback(Body):
    """``force``: replace files that were changed since; what they hold is kept."""

    force: bool = False


class DayQuery(Query):
    """Which day, and from behind which line on."""

    day: Annotated[str, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")]
    after: Annotated[int, Field(ge=0, lt=1 << 53), WHOLE] = 0


class Persona(Body):
    """A text, the name of a suggestion, or ``later``: one of them."""

    text: Annotated[str | None, Field(max_length=64_000)] = None
    preset: Annotated[str, Field(max_length=64)] = ""
    later: bool = False

    @model_validator(mode="after")
    def _just_one(self) -> Persona:
        if (self.text is not None) + bool(self.preset) + self.later != 1:
            raise ValueError("must have one of text, preset and later")
        return self


class NewKey(Body):
    """An API key to be made, and what it may do."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")]
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=3)]


class EventsQuery(Query):
    """The thread to follow, and where to go on (the header Last-Event-ID goes before ``after``)."""

    thread: Annotated[str, Field(max_length=200)] = ""
    after: Annotated[str, Field(max_length=100)] = ""


class HistoryQuery(Query):
    """A page of a thread; ``view=html`` gives it as the pieces of page it is shown with."""

    thread: Annotated[Said, Field(max_length=200)]
    before: Annotated[int, Field(ge=0, le=NEWEST), WHOLE] | None = None
    limit: Annotated[int, Field(ge=1, le=500), WHOLE] = 60
    view: Literal["", "html"] = ""


class ThreadsQuery(Query):
    """Which threads: ``query`` searches, ``before`` (the last one's ``updated_at``) pages."""

    query: Annotated[str, Field(max_length=200)] = ""
    before: Decimal | None = None
    limit: Annotated[int, Field(ge=1, le=200), WHOLE] = 50


class ExportQuery(Query):
    """The form of the file."""

    format: Literal["md", "json"] = "md"


class BlockQuery(Query):
    """Whether a small picture of the file will do: a list shows those.  The file itself where there is none."""

    small: Literal["", "1"] = ""


class PartQuery(Query):
    """Which part of an event's text, in characters."""

    offset: Annotated[int, Field(ge=0, le=NEWEST), WHOLE] = 0
    length: Annotated[int, Field(ge=1, le=200_000), WHOLE] | None = None


class LogsQuery(Query):
    """How many of the last lines."""

    limit: Annotated[int, Field(ge=1, le=1000), WHOLE] = 200


class SettingsQuery(Query):
    """Only keys that begin so."""

    prefix: Annotated[str, Field(max_length=200)] = ""


def read(model: type[Asked], given: object) -> Asked:
    """What was given, checked.  Raises InvalidInput naming the field; never repeats a value."""
    if not isinstance(given, Mapping):
        raise InvalidInput("The body must be a JSON object.")
    try:
        return model.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        raise InvalidInput(_told(first), detail={"param": _param(first)}) from None


def _param(first: ErrorDetails) -> str:
    """The place as a program writes it: ``messages[0].content``."""
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"])
    return place.lstrip(".")[:200]


def _told(first: ErrorDetails) -> str:
    place = ".".join(str(part) for part in first["loc"])[:100]
    why = first["msg"].removeprefix("Value error, ")
    if first["type"] == "missing":
        why = "is missing"
    return f"{place!r}: {why}." if place else f"{why[:1].upper()}{why[1:]}."


class Address(Body):
    """`POST /packages/fetch`"""

    url: str = Field(min_length=9, max_length=2000, pattern=r"^https://\S+$")


Capability = Annotated[str, Field(min_length=1, max_length=64)]


class Grants(Body):
    """`POST /packages/ID/install`: the hash that the review gave, and all that the plugin may do."""

    sha256: str = Field(pattern=r"^[0-9a-f]{64}\Z")
    grant: list[Capability] = Field(max_length=32)


class Capabilities(Body):
    """`POST /plugins/NAME/grant`: all that the plugin may do from now on."""

    capabilities: list[Capability] = Field(max_length=32)


class Removal(Body):
    """`POST /plugins/NAME/remove`; without ``keep_data`` its settings, passwords, files and logs go too."""

    keep_data: bool
