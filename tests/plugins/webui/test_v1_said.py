"""What is new in a conversation that a program sends, and where it stands."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from homed.errors import InvalidInput
from plugins.webui.asked import read
from plugins.webui.asked_v1 import ChatCompletion, Message
from plugins.webui.v1_said import EARLIER, MAX_FILES, Said, said

PDF = "data:Application/PDF;base64,aGk="
KEY = "hk_" + "k" * 43


def messages(*given: Any) -> list[Message]:
    return read(ChatCompletion, {"model": "homed", "messages": list(given)}).messages


def new(*given: Any, key: str = KEY) -> Said:
    return said(messages(*given), key)


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def model(content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **more}


def place(*given: Any, key: str = KEY) -> dict[str, str]:
    found = new(*given, key=key).place
    assert found is not None
    return dict(found)


def test_new_is_what_was_said_after_the_last_answer() -> None:
    assert new(user("a"), model("b"), user("c")).text == "c"
    assert new(user("a"), model("b"), user("c"), user("d")).text == "c\n\nd"
    assert new(user("a"), {"role": "system", "content": "now"}).text == "a"
    assert new(user([{"type": "text", "text": "x"}, {"type": "text", "text": "y"}])).text == "x\n\ny"


def test_a_message_finds_the_one_before_it() -> None:
    first = place(user("a"))
    second = place(user("a"), model("b"), user("c"))
    third = place(user(" a\n"), model("b, edited"), user("c"), model("d"), user("e"))
    assert (second["chain_before"], second["said_before"], second["answer"]) == (first["chain"], first["said"], "b")
    assert (third["chain_before"], third["said_before"]) == (second["chain"], second["said"])
    assert "chain_before" not in first
    assert place(user("x"), model("d"), user("e"))["said"] == third["said"]
    assert place(user("x"), model("d"), user("e"))["chain"] != third["chain"]
    assert len({first["chain"], first["said"], second["chain"], second["said"]}) == 4


def test_marks_are_the_keys_own_and_those_of_the_files_too() -> None:
    assert place(user("a"))["chain"] != place(user("a"), key="hk_other")["chain"]
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
    other = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aG8="}}
    assert place(user([picture]))["said"] != place(user([other]))["said"]


def test_instructions_and_calls_are_in_no_mark() -> None:
    step = [model(None, tool_calls=[{"id": "c"}]), {"role": "tool", "tool_call_id": "c", "content": "r"}, model("b")]
    with_calls = place({"role": "system", "content": "It is Monday."}, user("a"), *step, user("c"))
    without = place({"role": "developer", "content": "It is Tuesday."}, user("a"), model("b"), user("c"))
    assert {k: v for k, v in with_calls.items() if k != "opening"} == {
        k: v for k, v in without.items() if k != "opening"
    }


def test_a_new_conversation_begins_with_what_came_before() -> None:
    assert place(user("a"))["opening"] == ""
    opening = place({"role": "system", "content": "Be brief."}, user("a"), model("b"), user("c"))["opening"]
    assert opening.index("Be brief.") < opening.index("Person: a") < opening.index("Assistant: b")
    assert "c" not in opening.splitlines()
    long = place(*[one for at in range(900) for one in (user(f"question {at} " + "x" * 50), model("y"))], user("z"))
    assert len(long["opening"]) < EARLIER + 500
    assert "question 899" in long["opening"]
    assert "question 1 " not in long["opening"]


def test_results_are_those_at_the_end() -> None:
    found = new(
        user("a"), model(None, tool_calls=[]), {"role": "tool", "tool_call_id": "old", "content": "0"}, model("b"),
        {"role": "tool", "tool_call_id": "one", "content": "1"},
        {"role": "tool", "tool_call_id": "two", "content": None},
    )  # fmt: skip
    assert found.results == {"one": "1", "two": ""}


@pytest.mark.parametrize(
    ("given", "param"),
    [
        ([model("b")], "messages"),
        ([{"role": "system", "content": "x"}], "messages"),
        ([user("a"), model("b")], "messages"),
        ([user("")], "messages[0].content"),
        ([{"role": "system", "content": "x" * 200_001}, user("a")], "messages"),
        ([user("a"), model(None), user(None)], "messages[2].content"),
        ([{"role": "tool", "content": "x"}], "messages[0].tool_call_id"),
        ([{"role": "tool", "tool_call_id": "x"}, {"role": "tool", "tool_call_id": "x"}], "messages[0].tool_call_id"),
        ([user([{"type": "image_url", "image_url": {"url": "https://x/y"}}])], "messages[0].content[0].image_url.url"),
        ([user([{"type": "image_url", "image_url": {"url": "file:///etc/passwd"}}])],
         "messages[0].content[0].image_url.url"),
        ([user([{"type": "image_url"}])], "messages[0].content[0].image_url"),
        ([user([{"type": "image_url", "image_url": {"url": "data:image/png;base64,***"}}])],
         "messages[0].content[0].image_url.url"),
        ([user([{"type": "image_url", "image_url": {"url": "data:image/png;base64,"}}])],
         "messages[0].content[0].image_url.url"),
        ([user([{"type": "input_audio"}])], "messages[0].content[0].input_audio"),
        ([user([{"type": "file", "file": {"file_id": "f"}}])], "messages[0].content[0].file.file_data"),
        ([user([{"type": "text", "text": "x"}] + [{"type": "file", "file": {"file_data": "data:text/plain,x"}}]
               * (MAX_FILES + 1))], "messages"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_by_its_place(given: list[Any], param: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        new(*given)
    assert caught.value.detail["param"] == param


def test_files_have_a_name_a_type_and_their_bytes() -> None:
    sound = base64.b64encode(b"RIFF").decode()
    found = new(
        user(
            [
                {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,aGk="}},
                {"type": "file", "file": {"filename": "../../a\u202eb.pdf", "file_data": PDF}},
                {"type": "file", "file": {"file_data": "data:text/plain;charset=utf-8,h%20i"}},
                {"type": "input_audio", "input_audio": {"data": sound, "format": "wav"}},
            ]
        )
    )  # fmt: skip
    assert [(file.name, file.media_type, file.data) for file in found.files] == [
        ("picture.jpg", "image/jpeg", b"hi"),
        ("ab.pdf", "application/pdf", b"hi"),
        ("file.txt", "text/plain", b"h i"),
        ("sound.wav", "audio/wav", b"RIFF"),
    ]
    assert found.text == ""
