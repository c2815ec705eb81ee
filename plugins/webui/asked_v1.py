"""What may be asked of ``/v1``, in the form of OpenAI's chat completions.  Slow to load, as ``asked.py`` is.

What is known and does nothing here is only what changes the manner of an answer and not what it is; a parameter that a
program relies on (several choices, a JSON schema to keep to, a tool that must be called) is refused by its name.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

MAX_MESSAGES = 5_000
MAX_TOOLS = 128
MAX_TEXT = 1 << 20

Text = Annotated[str, Field(max_length=MAX_TEXT)]
Short = Annotated[str, Field(max_length=512)]
Number = Annotated[float, Field(ge=-1e9, le=1e9)]


class _Loose(BaseModel):
    """Part of a message: programs send back more than they got."""

    model_config = ConfigDict(strict=True, extra="ignore", allow_inf_nan=False)


class _Exact(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", regex_engine="python-re", allow_inf_nan=False)


class Picture(_Loose):
    """A picture: a data: URL."""

    url: str
    detail: Short | None = None


class Sound(_Loose):
    """A recording in base64."""

    data: str
    format: Literal["wav", "mp3"]


class File(_Loose):
    """A file: a data: URL, and its name."""

    file_data: str | None = None
    filename: Annotated[str, Field(max_length=400)] | None = None
    file_id: Short | None = None


class Part(_Loose):
    """A part of a message."""

    type: Literal["text", "image_url", "input_audio", "file", "refusal"]
    text: Text | None = None
    refusal: Text | None = None
    image_url: Picture | None = None
    input_audio: Sound | None = None
    file: File | None = None


class Message(_Loose):
    """One message of the conversation, the oldest first."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: Text | Annotated[list[Part], Field(max_length=200)] | None = None
    tool_call_id: Short | None = None
    tool_calls: Annotated[list[Any], Field(max_length=MAX_TOOLS)] | None = None


class Function(_Exact):
    """A function that the program has."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}\Z")]
    description: Annotated[str, Field(max_length=8192)] | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class Tool(_Exact):
    """A tool that the program offers."""

    type: Literal["function"]
    function: Function


class Named(_Exact):
    """A function by its name."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}\Z")]


class ToolChoice(_Exact):
    """The function that must be called."""

    type: Literal["function"]
    function: Named


class StreamOptions(_Exact):
    """How it is streamed."""

    include_usage: bool | None = None
    include_obfuscation: bool | None = None


class PlainText(_Exact):
    """The form of an answer."""

    type: Literal["text"]


class ChatCompletion(_Exact):
    """A chat completion.  The last message is the person's, or the results of the calls that were answered with."""

    model_config = ConfigDict(title="ChatCompletion")

    model: Annotated[str, Field(min_length=1, max_length=300)]
    messages: Annotated[list[Message], Field(min_length=1, max_length=MAX_MESSAGES)]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    tools: Annotated[list[Tool], Field(max_length=MAX_TOOLS)] | None = None
    tool_choice: Literal["auto", "none", "required"] | ToolChoice | None = None
    parallel_tool_calls: bool | None = None
    n: Literal[1] | None = None
    response_format: PlainText | None = None
    modalities: Annotated[list[Literal["text"]], Field(max_length=1)] | None = None
    logprobs: Literal[False] | None = None
    top_logprobs: Literal[0] | None = None
    stop: Annotated[list[str], Field(max_length=0)] | None = None
    logit_bias: Annotated[dict[str, Number], Field(max_length=0)] | None = None
    # these change nothing here
    temperature: Number | None = None
    top_p: Number | None = None
    presence_penalty: Number | None = None
    frequency_penalty: Number | None = None
    seed: int | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    max_completion_tokens: Annotated[int, Field(ge=1)] | None = None
    reasoning_effort: Short | None = None
    verbosity: Short | None = None
    user: Short | None = None
    safety_identifier: Short | None = None
    prompt_cache_key: Short | None = None
    prompt_cache_retention: Short | None = None
    service_tier: Short | None = None
    store: bool | None = None
    metadata: Annotated[dict[str, Any], Field(max_length=16)] | None = None
    prediction: dict[str, Any] | None = None
