"""The REST interface as one table: what there is, who may ask, what is asked and what is answered.

The application, the door and the OpenAPI document are all made from it.  Models are named here and not imported: they
are slow to load.  ``asked*.py`` hold those of ``query`` and ``body``, ``answered*.py`` those of ``answer``.
"""

from __future__ import annotations

from collections.abc import Mapping

from .route import JSON, V1, Route
from .route import delete as _delete
from .route import get as _get
from .route import post as _post
from .routes_memory import HOLO_ROUTES, MEMORY_ROUTES

MAX_UPLOAD = 20 << 20
"""Bytes of one file."""

MAX_PACKAGE = 100_000_000
"""Bytes of a plugin's package."""

BLOCK_KINDS = ("image/png", "image/jpeg", "image/gif", "image/webp", "application/octet-stream")
"""What `GET /blocks/ID` answers with: pictures as such, everything else as bytes to save."""

ROUTES: tuple[Route, ...] = (
    _post("/login", "login", "open", "Begin a session with a login link's secret or the password.", "Session", "Login"),
    _post("/logout", "logout", "session", "End this session.", "Nothing"),
    _get("/status", "status", "any", "The daemon as it stands.", "Status"),
    Route(
        "POST", "/chat", "say", "chat", "Say something; a new thread begins where none is named.", "Accepted",
        body="Say", takes="json", statuses={202: "Accepted and durable.", 200: "Said before; this is that input."},
    ),
    Route(
        "POST", "/chat/interrupt", "interrupt", "chat", "Say something that is taken up before what runs goes on.",
        "Interrupted", body="Say", takes="json",
        statuses={202: "Accepted and durable.", 200: "Said before; this is that input."},
    ),
    Route(
        "GET", "/chat/events", "events", "chat", "Follow a thread as server-sent events.", query="EventsQuery",
        kinds=("text/event-stream",), statuses={200: "The stream."},
    ),
    _get("/chat/history", "history", "chat", "A page of a thread.", "HistoryAnswer", "HistoryQuery"),
    _post("/chat/stop", "stop", "chat", "Stop what a thread is doing.", "Stopped", "ThreadOnly"),
    _get("/approvals", "approvals", "chat", "What waits for a yes or no.", "Approvals"),
    _post("/approvals/{approval}", "approve", "chat", "Answer a question.", "Nothing", "Decision"),
    _get("/threads", "threads", "chat", "The threads, newest first.", "Threads", "ThreadsQuery"),
    _post("/threads/{thread}", "rename", "chat", "Give a thread a title.", "Nothing", "Title"),
    _delete("/threads/{thread}", "forget", "chat", "Delete a thread with its files.", "Deleted"),
    Route(
        "GET", "/threads/{thread}/export", "export", "chat", "A whole thread as a file.", query="ExportQuery",
        kinds=("text/markdown", JSON), statuses={200: "The file."},
    ),
    Route(
        "POST", "/uploads", "upload", "chat", "Send a file, to go with a message.", "Uploaded",
        takes="file", limit=MAX_UPLOAD, statuses={201: "Kept until a message takes it along."},
    ),
    Route(
        "GET", "/blocks/{block}", "block", "chat", "A file of a conversation.", query="BlockQuery", kinds=BLOCK_KINDS,
        statuses={200: "The file."},
    ),
    _get("/events/{event}", "event", "chat", "An event, verbatim.", "EventAnswer", "PartQuery"),
    _get("/turns/{turn}/explain", "explain", "memory", "What went into a turn, and why.", "Explained"),
    _get("/plugins", "plugins", "admin", "Every plugin with its state and crash reports.", "Plugins"),
    _get("/plugins/{name}/logs", "plugin_logs", "admin", "The last lines a plugin wrote.", "Lines", "LogsQuery"),
    _get("/plugins/{name}", "plugin_info", "admin", "Everything about one plugin.", "PluginInfo"),
    Route(
        "POST", "/plugins/{name}/{action}", "plugin_do", "admin", "Start, stop, enable, disable or reload a plugin.",
        "Plugin", body="Empty", takes="json",
        choices={"action": ("start", "stop", "enable", "disable", "reload")},
    ),
    _post("/plugins/{name}/grant", "plugin_grant", "admin", "Set what an installed plugin may do.", "Plugin",
          "Capabilities"),
    _post("/plugins/{name}/remove", "plugin_remove", "admin", "Remove an installed plugin.", "Nothing", "Removal"),
    Route(
        "POST", "/packages", "package_send", "admin", "Send a package to look at; nothing is installed.", "Reviewed",
        takes="file", limit=MAX_PACKAGE, statuses={201: "Looked at, and kept for a quarter of an hour."},
    ),
    Route(
        "POST", "/packages/fetch", "package_fetch", "admin", "Download a package to look at.", "Reviewed",
        body="Address", takes="json", statuses={201: "Looked at, and kept for a quarter of an hour."},
    ),
    _post("/packages/{package}/install", "package_install", "admin", "Install what was looked at.", "Plugin", "Grants"),
    _delete("/packages/{package}", "package_drop", "admin", "Forget a package.", "Nothing"),
    _get("/models", "models", "admin", "The model sources, without keys.", "Models"),
    _post("/models", "model_add", "admin", "Add a source, or replace the one of that name.", "SourceAnswer", "Source"),
    _post("/models/available", "models_available", "admin", "The models that a server has.", "OfferedModels", "Place"),
    Route(
        "POST", "/models/{name}/{action}", "model_do", "admin", "Use, test or remove a source.", "Tested",
        body="Empty", takes="json", choices={"action": ("use", "test", "remove")},
    ),
    _get("/settings", "settings", "admin", "The settings, passwords masked.", "Settings", "SettingsQuery"),
    _post("/settings", "setting_set", "admin", "Set a setting.", "Applied", "Setting"),
    _post("/settings/change", "settings_change", "admin", "Set several settings, all or none.", "Changed",
          "SettingChanges"),
    _delete("/settings/{key}", "setting_unset", "admin", "Bring the default of a setting back.", "Applied"),
    _get("/settings/snapshots", "snapshots", "admin", "What the settings of the models were.", "Snapshots"),
    _post("/settings/snapshots/{snapshot}", "rollback", "admin", "Bring them back as they were.", "RolledBack"),
    _get("/usage", "usage", "admin", "What models cost, and where that stands against the limits.", "Usage",
         "UsageQuery"),
    _post("/usage/prices", "price_set", "admin", "Give the price of a model.", "Nothing", "Price"),
    _post("/usage/prices/remove", "price_remove", "admin", "Forget a price that was given.", "Nothing", "PriceOf"),
    _get("/changes", "changes", "admin", "What tools changed in files, newest first.", "Changes", "ChangesQuery"),
    _get("/changes/{change}", "change", "admin", "One change, with its files.", "Change", "EntriesQuery"),
    _get("/changes/{change}/diff", "change_diff", "admin", "How a file of it changed.", "FileDiff", "EntryQuery"),
    _post("/changes/{change}/rollback", "change_rollback", "admin", "Put it back.", "PutBack", "Rollback"),
    _delete("/changes/{change}", "change_forget", "admin", "Forget what is kept of it.", "ForgotEntries"),
    _get("/textlog", "textlog", "memory", "What was said on a day.", "Day", "DayQuery"),
    _get("/persona", "persona", "admin", "Who the assistant is, and suggestions.", "PersonaAnswer"),
    _post("/persona", "persona_set", "admin", "Choose who it is, or put it off.", "PersonaAnswer", "Persona"),
    _get("/keys", "keys", "admin", "The API keys, without the keys themselves.", "Keys"),
    Route(
        "POST", "/keys", "key_add", "admin", "Make an API key; it is shown this once.", "KeyMade",
        body="NewKey", takes="json", statuses={201: "Made."},
    ),
    _delete("/keys/{name}", "key_remove", "admin", "Remove an API key; it stops working at once.", "Nothing"),
    _get("/doctor", "doctor", "admin", "What the daemon finds when it looks at itself.", "Checks"),
    _get("/openapi.json", "openapi", "any", "This document.", "Document"),
    Route(
        "GET", "/socket", "socket", "any", "A WebSocket that speaks the terminal socket's JSON-RPC lines.",
        statuses={101: "Switching to WebSocket."}, refusals=(426,),
    ),
    *MEMORY_ROUTES,
)  # fmt: skip
"""Every route under `route.PREFIX`."""

MAX_COMPLETION = 24 << 20
"""Bytes of a whole conversation, with the pictures in it: programs send all of it each time."""

V1_ROUTES: tuple[Route, ...] = (
    Route("GET", "/models", "v1_models", "chat", "The models that a program may name: one.", "V1Models", prefix=V1),
    Route("GET", "/models/{model}", "v1_model", "chat", "One of them.", "V1Model", prefix=V1),
    Route(
        "POST", "/chat/completions", "v1_chat", "chat", "Answer a conversation, as OpenAI's API does.", "V1Completion",
        body="ChatCompletion", takes="json", limit=MAX_COMPLETION, kinds=(JSON, "text/event-stream"), prefix=V1,
    ),
)  # fmt: skip
"""Every route for programs that speak OpenAI's API; keys alone open them."""

EVERY_ROUTE: tuple[Route, ...] = (*ROUTES, *V1_ROUTES, *HOLO_ROUTES)
BY_ENDPOINT: Mapping[str, Route] = {route.endpoint: route for route in EVERY_ROUTE}
