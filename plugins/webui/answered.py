"""What the REST interface answers: one model for each answer that is JSON (``routes.py`` names them).

They are for the OpenAPI document and the tests; answers are the kernel's and pass as they are, so they may have more
fields than these.  Slow to load, so only ``openapi.py`` imports it.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, RootModel


class Answer(BaseModel):
    """An answer; more fields may come."""

    model_config = ConfigDict(extra="allow")


class Fault(Answer):
    """``code`` is what to branch on, ``message`` and ``hint`` are for a person.  ``needs``: what to ask the person for,
    to try again with (``reason``)."""

    code: str
    message: str
    hint: str
    needs: str | None = None


class Problem(Answer):
    """Why it was not done."""

    error: Fault


class Nothing(Answer):
    """Done; there is nothing to tell."""


class Document(RootModel[dict[str, Any]]):
    """An OpenAPI 3.1 document."""


class Session(Answer):
    """A session has begun; its cookie came with this answer."""

    expires_at: float


class Accepted(Answer):
    """A message is durable, and where it went."""

    input: str
    thread: str
    state: str
    duplicate: bool
    outcome: dict[str, Any] | None


class Interrupted(Accepted):
    """The same, with the level that counts, and how it comes in."""

    level: int
    way: Literal["starts", "suspends", "joins", "waits"]


class Thread(Answer):
    """A thread in a list."""

    id: str
    title: str
    channel: str
    scope: str
    created_at: float
    updated_at: float
    busy: bool


class Threads(Answer):
    """Threads, newest first."""

    threads: list[Thread]
    more: bool


class Event(Answer):
    """One event; an over-long text as head and tail."""

    seq: int
    id: str
    turn: str
    kind: str
    peer: str
    text: str
    data: dict[str, Any]
    created_at: float


class Approval(Answer):
    """A question that waits for a yes or no."""

    approval: str
    thread: str
    turn: str
    tool: str
    plugin: str
    args: Any
    reason: str
    expires_at: float
    yes: str


class History(Answer):
    """A page of a thread, and what runs in it now."""

    thread: Thread
    events: list[Event]
    more: bool
    ended: list[dict[str, Any]]
    live: dict[str, Any] | None
    suspended: list[dict[str, Any]]
    queued: list[dict[str, Any]]
    approvals: list[Approval]
    seq: int
    cursor: str


class HistoryHtml(Answer):
    """The same as a piece of page (``view=html``)."""

    thread: Thread
    html: str
    more: bool
    before: int
    busy: bool
    cursor: str


class HistoryAnswer(RootModel[History | HistoryHtml]):
    """A page of a thread, in the form that was asked for."""


class Stopped(Answer):
    """Whether anything ran."""

    stopped: bool


class Approvals(Answer):
    """What waits for an answer."""

    approvals: list[Approval]


class Deleted(Answer):
    """How much went."""

    events: int
    files: int


class Uploaded(Answer):
    """A file that waits for its message."""

    upload: str
    name: str
    bytes: int
    media_type: str


class Evidence(Answer):
    """An event as it was stored."""

    id: str
    seq: int
    thread: str
    turn: str
    kind: str
    peer: str
    created_at: float
    layer: str
    data: dict[str, Any]


class EventAnswer(Answer):
    """An event, and ``text`` from character ``offset`` of ``of``."""

    event: Evidence
    text: str
    offset: int
    of: int


class Model(Answer):
    """Which model answers."""

    configured: bool
    source: str
    model: str
    hint: str


class Status(Answer):
    """The daemon as it stands."""

    version: str
    pid: int
    started_at: float
    data_dir: str
    safe: bool
    model: Model
    plugins: list[dict[str, Any]]
    threads: dict[str, int]
    counts: dict[str, int]


class Plugin(Answer):
    """A plugin, its state and why."""

    name: str
    version: str
    description: str
    state: str
    reason: str
    pid: int | None
    tools: list[str]
    crashes: list[dict[str, Any]]


class Plugins(Answer):
    """Every plugin."""

    plugins: list[Plugin]


class PluginInfo(Answer):
    """Everything about a plugin; of one that cannot be read only its state and ``errors``."""

    name: str
    version: str
    state: str
    reason: str
    trust: str
    removable: bool
    errors: list[str]
    package: dict[str, Any] | None


class Reviewed(Answer):
    """What a package is and wants.  ``refused``: why it cannot be installed, or nothing."""

    package: str
    name: str
    version: str
    description: str
    capabilities: list[dict[str, Any]]
    warnings: list[str]
    refused: str
    sha256: str
    size: int
    replaces: dict[str, Any] | None


class Lines(Answer):
    """Lines of a log, oldest first."""

    lines: list[str]


class SourceAnswer(Answer):
    """A model source; of its key only whether there is one."""

    name: str
    model: str
    has_key: bool
    current: bool
    learnt_window: int = Field(default=0, description="Tokens it turned out to take; 0 where its own was right.")


class Offered(Answer):
    """A model that a server has; what it does not say is empty, 0 or null."""

    id: str
    title: str = ""
    context_window: int = 0
    vision: bool | None = None
    tools: bool | None = None


class OfferedModels(Answer):
    """The models that a server lists."""

    models: list[Offered]


class Models(Answer):
    """The model sources."""

    sources: list[SourceAnswer]


class Tested(Answer):
    """Nothing, or how a test went."""

    ok: bool = True
    latency_ms: float | None = None
    total_ms: float | None = None
    streaming: bool = False
    tools: bool = False
    images: bool | None = Field(default=None, description="Null where it was shown none.")
    reasoning: bool = False
    usage: bool = False
    notes: list[str] = Field(default=[], description="What it turned out to want otherwise.")
    error: str = ""
    hint: str = ""


class Spent(Answer):
    """What was used, of one kind of price.  ``cost``: a decimal number, empty where it is unknown or free."""

    price: Literal["known", "unknown", "free"]
    currency: str
    cost: str
    prompt: int
    cached: int
    completion: int
    estimated: int = Field(description="Tokens that the source did not count, and so were counted here.")
    calls: int


class SpentOn(Spent):
    """What was used on a day."""

    day: str
    kind: Literal["turn", "background", "plugin", "child"]
    source: str
    model: str


class SpentThread(Answer):
    """What a conversation took."""

    thread: str
    title: str
    spent: list[Spent]


class SpentPeer(Answer):
    """What a person took."""

    peer: str
    spent: list[Spent]


class SpentWho(Answer):
    """What a job or a plugin took."""

    who: str
    spent: list[Spent]


class SpendToday(Answer):
    """Spent or reserved today; ``times`` it was let go on past its limit."""

    tokens: int
    money: str
    times: int


class SpendLimits(Answer):
    """0: none."""

    turn_tokens: int
    day_tokens: int
    day_money: str
    currency: str
    background_percent: int


class Usage(Answer):
    """What models cost; days are those of the owner's time zone."""

    day: str
    first: str
    kept: int = Field(description="Days for which conversations, people and jobs are named.")
    today: SpendToday
    limits: SpendLimits
    days: list[SpentOn]
    threads: list[SpentThread]
    peers: list[SpentPeer]
    who: list[SpentWho]
    prices: list[dict[str, Any]]
