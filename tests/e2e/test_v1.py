"""The official SDK of OpenAI as a client of a real daemon: answers, streams, functions of the client's, pictures."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection
from typing import Any

import openai
import pytest
from openai import OpenAI

from tests.e2e.test_attachments import png
from tests.kit.daemon import until
from tests.kit.house import House, Plan, house

pytestmark = pytest.mark.slow

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def tool(name: str) -> Any:
    return {"type": "function", "function": {"name": name, "description": "Looks it up.", "parameters": CITY}}


WEATHER = tool("get_weather")


def client_of(home: House, key: str) -> OpenAI:
    url = home.daemon.new_link().partition("/login#")[0]
    return OpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0, timeout=60)


def key_of(home: House, name: str, *options: str) -> str:
    made = home.daemon.run("keys", "add", name, *options)
    assert made.code == 0, made.err
    return made.out.strip()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with house(tmp_path_factory.mktemp("v1") / "data", Plan(only=("webui",), seer=True, vectors=False)) as built:
        yield built


@pytest.fixture(scope="module")
def client(home: House) -> Iterator[OpenAI]:
    with client_of(home, key_of(home, "sdk")) as made:
        yield made


def user(text: str) -> Any:
    return {"role": "user", "content": text}


def result(call: Any, text: str) -> Any:
    return {"role": "tool", "tool_call_id": call.id, "content": text}


def ask(client: OpenAI, messages: list[Any], **more: Any) -> Any:
    return client.chat.completions.create(**{"model": "homed", "messages": messages, **more})


def thread_of(client: OpenAI, messages: list[Any], **more: Any) -> tuple[str, Any]:
    """The thread that an answer is in, and its message."""
    raw = client.chat.completions.with_raw_response.create(**{"model": "homed", "messages": messages, **more})
    return str(raw.headers["x-homed-thread"]), raw.parse().choices[0].message


def spoken(home: House, thread: str, kind: str = "user") -> list[str]:
    return [event["text"] for event in home.history(thread) if event["kind"] == kind]


# -- plain answers


def test_the_models_are_one(client: OpenAI, home: House) -> None:
    assert [model.id for model in client.models.list()] == ["homed"]
    assert client.models.retrieve("homed").owned_by == "homed"
    thread, _ = thread_of(client, [user("a thread to name")])
    assert client.models.retrieve(f"homed:{thread}").id == f"homed:{thread}"
    for name in ("gpt-5", "homed:", "homed:th_none"):
        with pytest.raises(openai.NotFoundError) as caught:
            client.models.retrieve(name)
        assert isinstance(caught.value.body, dict)


def test_an_answer_whole_and_streamed_is_the_same_and_says_what_it_took(client: OpenAI, home: House) -> None:
    home.fake.when("the moon", {"say": "It is 384 400 km away. 你好🌍", "think": "Far, I think.", "chunk": 3})
    whole = ask(client, [user("How far is the moon?")])
    assert whole.choices[0].message.content == "It is 384 400 km away. 你好🌍"
    assert whole.choices[0].message.reasoning_content == "Far, I think."
    assert (whole.choices[0].finish_reason, whole.usage.total_tokens > 10) == ("stop", True)
    chunks = list(ask(client, [user("And the moon?")], stream=True, stream_options={"include_usage": True}))
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    assert deltas[0].role == "assistant"
    assert "".join(delta.content or "" for delta in deltas) == whole.choices[0].message.content
    thoughts = "".join(getattr(delta, "reasoning_content", None) or "" for delta in deltas)
    assert thoughts == "Far, I think."
    assert [c.choices[0].finish_reason for c in chunks if c.choices and c.choices[0].finish_reason] == ["stop"]
    assert chunks[-1].usage.prompt_tokens > 10
    assert not chunks[-1].choices
    without = list(ask(client, [user("moon again")], stream=True))
    assert all(chunk.usage is None for chunk in without)


def test_a_history_that_is_sent_again_is_the_same_conversation_and_stored_once(client: OpenAI, home: House) -> None:
    messages: list[Any] = [{"role": "system", "content": "Be brief. It is Monday."}, user("hello one")]
    thread, message = thread_of(client, messages)
    messages[0]["content"] = "Be brief. It is Tuesday."  # programs put the date there
    second, again = thread_of(client, [*messages, message, user("hello two")])
    third, _ = thread_of(client, [*messages, message, user("hello two"), again, user("hello three")])
    cut, _ = thread_of(client, [user("hello three"), {"role": "assistant", "content": "You said: hello three"},
                                user("hello four")])  # fmt: skip
    assert thread == second == third == cut
    told = spoken(home, thread)
    assert told[1:] == ["hello two", "hello three", "hello four"]
    assert "Be brief. It is Monday." in told[0]
    assert told[0].endswith("hello one")
    assert len(spoken(home, thread, "assistant")) == 4


def test_the_same_words_with_other_answers_are_other_conversations(client: OpenAI, home: House) -> None:
    home.fake.when("pick a number", [{"say": "Seven."}, {"say": "Nine."}])
    seven, said_seven = thread_of(client, [user("pick a number")])
    nine, said_nine = thread_of(client, [user("pick a number")])
    assert seven != nine
    assert thread_of(client, [user("pick a number"), said_seven, user("thanks")])[0] == seven
    assert thread_of(client, [user("pick a number"), said_nine, user("thanks")])[0] == nine


def test_a_conversation_from_elsewhere_is_told_once(client: OpenAI, home: House) -> None:
    earlier = [user("My cat is Mia."), {"role": "assistant", "content": "A fine name."}]
    thread, message = thread_of(client, [*earlier, user("Whose name is fine?")])
    (told,) = spoken(home, thread)
    assert "My cat is Mia." in told
    assert "A fine name." in told
    assert told.endswith("Whose name is fine?")
    same, _ = thread_of(client, [*earlier, user("Whose name is fine?"), message, user("good")])
    assert (same, spoken(home, thread)[1:]) == (thread, ["good"])


def test_a_thread_can_be_named_by_the_model_or_a_header(client: OpenAI, home: House) -> None:
    thread = str(home.chat("begun at the terminal")["thread"])
    assert thread_of(client, [user("by model")], model=f"homed:{thread}")[0] == thread
    assert thread_of(client, [user("by header")], extra_headers={"X-Homed-Thread": thread})[0] == thread
    assert spoken(home, thread) == ["begun at the terminal", "by model", "by header"]


def test_the_same_request_by_its_key_is_one_message(client: OpenAI, home: House) -> None:
    headers = {"Idempotency-Key": "once"}
    first = thread_of(client, [user("only once")], extra_headers=headers)
    assert thread_of(client, [user("only once")], extra_headers=headers)[0] == first[0]
    assert spoken(home, first[0]) == ["only once"]


# -- functions of the client's


def test_a_function_of_the_clients_is_called_and_the_same_turn_goes_on(client: OpenAI, home: House) -> None:
    home.fake.when(
        "weather in Bonn",
        {"say": "Let me see.", "calls": [{"name": "get_weather", "args": {"city": "Bonn"}}]},
        {"say": "It is {tool}."},
    )
    messages = [user("weather in Bonn?")]
    first = ask(client, messages, tools=[WEATHER])
    assert first.choices[0].finish_reason == "tool_calls"
    message = first.choices[0].message
    (call,) = message.tool_calls
    assert (message.content, call.function.name) == ("Let me see.", "get_weather")
    assert json.loads(call.function.arguments) == {"city": "Bonn"}
    messages += [message, result(call, "sunny")]
    second = ask(client, messages, tools=[WEATHER])
    assert (second.choices[0].message.content, second.choices[0].finish_reason) == ("It is sunny.", "stop")
    assert second.usage.prompt_tokens < first.usage.prompt_tokens * 1.5, "what was told is not told again"
    with pytest.raises(openai.BadRequestError, match="No call waits") as caught:
        ask(client, messages, tools=[WEATHER])
    assert caught.value.param == "messages"
    messages += [second.choices[0].message, user("thank you")]
    thread, _ = thread_of(client, messages)
    assert spoken(home, thread) == ["weather in Bonn?", "thank you"]
    (stored,) = [event for event in home.history(thread) if event["kind"] == "tool"]
    assert (stored["text"], stored["data"]["untrusted"]) == ("sunny", True)
    offered = [one["function"]["name"] for one in home.fake.chats[-1].body.get("tools", ())]
    assert "get_weather" not in offered, "lent for one message"


def test_streamed_calls_two_at_once_and_both_results(client: OpenAI, home: House) -> None:
    home.fake.when(
        "two towns",
        {"calls": [{"name": "get_weather", "args": {"city": one}} for one in ("Rome", "Oslo")]},
        {"say": "Done: {tool}"},
    )
    messages: list[Any] = [user("two towns")]
    with client.chat.completions.stream(model="homed", messages=messages, tools=[WEATHER]) as stream:
        message = stream.get_final_completion().choices[0].message
    assert message.tool_calls is not None
    cities = [json.loads(call.function.arguments)["city"] for call in message.tool_calls]
    assert cities == ["Rome", "Oslo"]
    with pytest.raises(openai.BadRequestError, match="no result for"):
        ask(client, [*messages, message, result(message.tool_calls[0], "hot")])
    results = [result(call, f"{city}!") for call, city in zip(message.tool_calls, cities, strict=True)]
    chunks = list(ask(client, [*messages, message.model_dump(exclude_none=True), *results], stream=True))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == "Done: Oslo!"
    given = [m["content"] for m in home.fake.chats[-1].body["messages"] if m["role"] == "tool"]
    assert sorted(given[-2:]) == ["Oslo!", "Rome!"]


def test_one_at_a_time_where_the_client_says_so(client: OpenAI, home: House) -> None:
    home.fake.when(
        "one by one", {"calls": [{"name": "get_weather", "args": {"city": one}} for one in "ab"]}, {"say": "Both."}
    )
    messages: list[Any] = [user("one by one")]
    seen = []
    while True:
        message = ask(client, messages, tools=[WEATHER], parallel_tool_calls=False).choices[0].message
        if not message.tool_calls:
            break
        (call,) = message.tool_calls
        seen.append(call.id)
        messages += [message, result(call, "fine")]
    assert (message.content, len(set(seen))) == ("Both.", 2)


def test_a_function_that_has_the_name_of_a_tool_here_and_tools_that_are_not_to_be_called(
    client: OpenAI, home: House
) -> None:
    taken = next(
        one["function"]["name"] for one in offered(client, home) if not one["function"]["name"].startswith("c")
    )
    home.fake.when("mine", {"calls": [{"name": f"client_{taken}", "args": {"city": "x"}}]}, {"say": "ok"})
    message = ask(client, [user("mine")], tools=[tool(taken)]).choices[0].message
    assert message.tool_calls[0].function.name == taken
    ask(client, [user("mine"), message, result(message.tool_calls[0], "y")])
    ask(client, [user("none of them")], tools=[WEATHER], tool_choice="none")
    names = [one["function"]["name"] for one in home.fake.chats[-1].body["tools"]]
    assert "get_weather" not in names


def test_a_function_that_must_be_called_is(client: OpenAI, home: House) -> None:
    """The model talks first: it is asked again, and nothing of that is told."""
    home.fake.misbehave(say="I would rather talk.")
    home.fake.misbehave(calls=[{"name": "get_weather", "args": {"city": "Oslo"}}])
    choice = {"type": "function", "function": {"name": "get_weather"}}
    message = ask(client, [user("you must")], tools=[WEATHER], tool_choice=choice).choices[0].message
    assert [one.function.name for one in message.tool_calls] == ["get_weather"]
    assert not message.content
    assert [one["function"]["name"] for one in home.fake.chats[-1].body["tools"]] == ["get_weather"]
    done = ask(client, [user("you must"), message, result(message.tool_calls[0], "3 degrees")])
    assert done.choices[0].message.content


def offered(client: OpenAI, home: House) -> list[Any]:
    ask(client, [user("what is offered")])
    return list(home.fake.chats[-1].body["tools"])


# -- files


def test_a_picture_becomes_an_attachment_and_is_not_sent_twice(client: OpenAI, home: House) -> None:
    picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{b64encode(png(4, 4)).decode()}"}}
    paper = {"type": "file", "file": {"filename": "a/../note.txt", "file_data": "data:text/plain;base64,aGVsbG8="}}
    messages = [{"role": "user", "content": [{"type": "text", "text": "look at this"}, picture, paper]}]
    thread, message = thread_of(client, messages)
    assert thread_of(client, [*messages, message, user("and?")])[0] == thread
    (said, _) = [event for event in home.history(thread) if event["kind"] == "user"]
    assert [(block["name"], block["media_type"]) for block in said["data"]["blocks"]] == [
        ("picture.png", "image/png"), ("note.txt", "text/plain"),
    ]  # fmt: skip


# -- errors, leaving, rights


@pytest.mark.parametrize(
    ("more", "param"),
    [
        ({"n": 2}, "n"),
        ({"stop": ["x"]}, "stop"),
        ({"logprobs": True}, "logprobs"),
        ({"tool_choice": "required"}, "tool_choice"),  # without any
        ({"tool_choice": {"type": "function", "function": {"name": "other"}}, "tools": [WEATHER]}, "tool_choice"),
        ({"response_format": {"type": "json_object"}}, "response_format.type"),
        ({"extra_body": {"nosuch": 1}}, "nosuch"),
        ({"messages": [user("  ")]}, "messages[0].content"),
        ({"messages": [user("a"), {"role": "assistant", "content": "b"}]}, "messages"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "http://x/y.png"}}]}]},
         "messages[0].content[0].image_url.url"),
        ({"tools": [{"type": "function", "function": {"name": "a b"}}]}, "tools[0].function.name"),
    ],
)  # fmt: skip
def test_what_is_not_done_here_is_refused_by_its_name(client: OpenAI, more: dict[str, Any], param: str) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        ask(client, more.pop("messages", [user("x")]), **more)
    assert caught.value.param == param


def test_what_changes_nothing_is_taken(client: OpenAI) -> None:
    done = ask(
        client, [user("manners")], temperature=0.2, top_p=1, max_tokens=5, max_completion_tokens=5, seed=1, user="u",
        presence_penalty=0, frequency_penalty=0, store=False, metadata={"a": "b"}, service_tier="auto",
        reasoning_effort="low",
    )  # fmt: skip
    assert done.choices[0].message.content == "You said: manners"


def test_errors_have_the_shape_and_status_that_clients_know(client: OpenAI, home: House) -> None:
    with pytest.raises(openai.NotFoundError) as missing:
        ask(client, [user("x")], model="gpt-5")
    assert (missing.value.code, missing.value.param) == ("model_not_found", "model")
    with pytest.raises(openai.AuthenticationError) as stranger:
        client.with_options(api_key=f"hk_{'x' * 43}").models.list()
    assert (stranger.value.code, stranger.value.type) == ("invalid_api_key", "authentication_error")
    with pytest.raises(openai.PermissionDeniedError):
        client.with_options(api_key=key_of(home, "memory", "--scope", "memory")).models.list()
    with pytest.raises(openai.PermissionDeniedError):
        client.with_options(default_headers={"Origin": "http://evil.example"}).models.list()
    with pytest.raises(openai.APIStatusError) as large:
        ask(client, [user("x" * (25 << 20))])
    assert large.value.status_code == 413
    home.fake.when("fall over", {"status": 400, "message": "no such thing"})
    with pytest.raises(openai.BadRequestError) as failed:
        ask(client, [user("fall over")])
    assert failed.value.code == "upstream_bad_request"
    assert failed.value.response.headers["x-should-retry"] == "false"
    home.fake.when("too often", {"status": 429, "message": "slow down", "headers": {"retry-after": "2"}})
    with pytest.raises(openai.RateLimitError) as often:
        ask(client, [user("too often")])
    assert often.value.response.headers["retry-after"] == "2"
    with pytest.raises(openai.APIError, match="no such thing"):
        list(ask(client, [user("fall over, streamed")], stream=True))


def test_no_cookie_opens_it(client: OpenAI, home: House) -> None:
    url, _, secret = home.daemon.new_link().partition("/login#")
    data = json.dumps({"secret": secret}).encode()
    headers = {"Content-Type": "application/json", "Origin": url}
    request = urllib.request.Request(f"{url}/api/v1/login", data=data, headers=headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        cookie = answer.headers["Set-Cookie"].split(";")[0]
    for path, method in (("/api/v1/threads", 200), ("/v1/models", 401)):
        asked = urllib.request.Request(url + path, headers={"Cookie": cookie, "Origin": url})
        try:
            with urllib.request.urlopen(asked, timeout=60) as answer:
                status = answer.status
        except urllib.error.HTTPError as error:
            status = error.code
        assert status == method


@pytest.mark.parametrize("stream", [True, False])
def test_who_hangs_up_stops_the_turn(client: OpenAI, home: House, stream: bool) -> None:
    text = f"talk for ever {stream}"
    home.fake.when(text, {"say": "word " * 4000, "delay": 0.05})
    if stream:
        with ask(client, [user(text)], stream=True) as chunks:
            assert sum(1 for _, _ in zip(range(5), chunks, strict=False)) == 5
    else:
        asked = {"model": "homed", "messages": [user(text)]}
        headers = {"Authorization": f"Bearer {client.api_key}", "Content-Type": "application/json"}
        with closing(HTTPConnection(str(client.base_url.host), client.base_url.port, timeout=60)) as caller:
            caller.request("POST", "/v1/chat/completions", json.dumps(asked), headers)
            until(lambda: begun(home, text), what="some of the answer")
    thread = next(one for one in home.ask("threads", limit=5)["threads"] if one["title"] == text)
    until(lambda: not home.ask("history", thread=thread["id"], limit=1)["live"], what="its end")
    last = home.history(thread["id"])[-1]
    assert last["data"]["partial"]
    assert len(last["text"]) < 5000


def begun(home: House, title: str) -> bool:
    """Whether the model has said anything in the conversation of that title."""
    found = [one["id"] for one in home.ask("threads", limit=5)["threads"] if one["title"] == title]
    live = home.ask("history", thread=found[0], limit=1)["live"] if found else None
    return bool(live and live["text"])


def test_two_at_once_get_their_own_answers(client: OpenAI) -> None:
    def one(name: str) -> list[str]:
        messages: list[Any] = []
        heard = []
        for turn in range(3):
            messages.append(user(f"{name} says {turn}"))
            chunks = ask(client, messages, stream=True)
            heard.append("".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices))
            messages.append({"role": "assistant", "content": heard[-1]})
        return heard

    with ThreadPoolExecutor(2) as pool:
        ann, bob = pool.map(one, ("ann", "bob"))
    assert ann == [f"You said: ann says {turn}" for turn in range(3)]
    assert bob == [f"You said: bob says {turn}" for turn in range(3)]


def test_a_key_of_a_guests_has_a_guests_rights_and_world(client: OpenAI, home: House) -> None:
    guest = client.with_options(api_key=key_of(home, "lounge", "--peer", "lounge"))
    mine, _ = thread_of(client, [user("the owner's own")])
    with pytest.raises(openai.NotFoundError):
        ask(guest, [user("let me in")], model=f"homed:{mine}")
    thread, message = thread_of(guest, [user("hello from the lounge")])
    assert thread not in {one["id"] for one in home.ask("threads", limit=200)["threads"]}
    other, _ = thread_of(client, [user("hello from the lounge"), message, user("was that me?")])
    assert other != thread
    ask(guest, [user("guest tools")], tools=[WEATHER])
    guests = {one["function"]["name"] for one in home.fake.chats[-1].body.get("tools", ())}
    assert "get_weather" in guests
    assert not guests & {"memory_commit", "memory_note", "spawn_child", "resident_agents", "config_set"}


def test_no_key_is_in_any_log(client: OpenAI, home: House) -> None:
    lines = "\n".join(home.ask("admin.plugin_logs", name="webui")["lines"]) + home.daemon.said
    assert client.api_key not in lines
    assert client.api_key[3:] not in lines
