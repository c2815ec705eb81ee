from __future__ import annotations

import base64
import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homed.redact import DEEPEST, Redactor, certain, redact, redact_json, telling_words

KEY = "sk-proj-A1b2C3d4E5f6G7h8I9j0"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"
PEM = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\nAAAA\n-----END OPENSSH PRIVATE KEY-----"


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        (f"use {KEY} please", "use [secret:key] please"),
        (f"密钥{KEY}。", "密钥[secret:key]。"),
        ("ghp_" + "a1" * 18, "[secret:github]"),
        ("github_pat_11ABCDEFG0123456789_abcdef", "[secret:github]"),
        ("AKIAIOSFODNN7EXAMPLE", "[secret:aws]"),
        ("xoxb-123456789012-abcdef", "[secret:slack]"),
        ("glpat-abcdefghij0123456789", "[secret:gitlab]"),
        ("AIzaSyA0123456789abcdefghijklmnopqrstuv", "[secret:key]"),
        *((begin + "a1B2c3D4e5" * 5, "[secret:key]") for begin in ("r8_", "csk-", "pplx-", "nvapi-", "tgp_v1_")),
        ("123456789:AAabcdefghijklmnopqrstuvwxyz0123456", "[secret:token]"),
        (f"cookie {JWT};", "cookie [secret:jwt];"),
        (f"before\n{PEM}\nafter", "before\n[secret:private_key]\nafter"),
        (PEM[:60] + "rest of a cut block", "[secret:private_key]"),
        ("Authorization: Bearer abcdef0123456789abcdef", "Authorization: Bearer [secret:token]"),
        ("Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic [secret:token]"),
        ("DB_PASSWORD=hunter2x\nPATH=/bin", "DB_PASSWORD=[secret:password]\nPATH=/bin"),
        ("OPENAI_API_KEY='abcd efgh'", "OPENAI_API_KEY='[secret:key]'"),
        ('{"password": "correct horse"}', '{"password": "[secret:password]"}'),
        (r"{\"api_key\": \"q1w2e3r4\"}", r"{\"api_key\": \"[secret:key]\"}"),
        ("DB_PASSWORD=pa$$w0rd", "DB_PASSWORD=[secret:password]"),
        ('{"token": "' + "x" * 3000 + '"}', '{"token": "[secret:key]"}'),
        ("password: hunter2", "password: [secret:password]"),
        ("my password is Tr0ub4dor&3", "my password is [secret:password]"),
        ("密码是abc12345", "密码是[secret:password]"),
        ("密码：hunter2!", "密码：[secret:password]"),
        ("postgres://me:s3cr3t@db.local/x", "postgres://me:[secret:password]@db.local/x"),
        ("https://a.b/c?api_key=0123abcd&x=1", "https://a.b/c?api_key=[secret:key]&x=1"),
        (
            "Set-Cookie: session=9vBtKc4WnJdY8sHf; Path=/account/of/mine; Domain=.example.com; Secure",
            "Set-Cookie: session=[secret:cookie]; Path=/account/of/mine; Domain=.example.com; Secure",
        ),
        ("Cookie: lang=en; sid=9vBtKc4WnJdY8sHf; x=1\nHost: a", "Cookie: lang=en; sid=[secret:cookie]; x=1\nHost: a"),
        ("curl -H 'cookie: sid=9vBtKc4WnJdY8sHf'", "curl -H 'cookie: sid=[secret:cookie]'"),
        (f"  value: {encoded(KEY)}", "  value: [secret:encoded]"),
        (f"TOKEN_B64={encoded(KEY)}", "TOKEN_B64=[secret:encoded]"),
        (encoded(f"用户: me\napi_key={KEY}\n"), "[secret:encoded]"),
        (encoded(f"a>>>b???{KEY}").translate(str.maketrans("+/", "-_")).rstrip("=") + ".", "[secret:encoded]."),
        (encoded(encoded(KEY)), "[secret:encoded]"),
    ],
)
def test_takes_out_what_looks_like_a_secret(text: str, clean: str) -> None:
    assert redact(text) == clean


@pytest.mark.parametrize(
    "text",
    [
        "sk-learn-pipeline-utilities is not a key",
        "a task-list-with-many-words-in-a-row 1",
        "max_tokens=4096, tokens: 20000",
        "Password: required",
        "password = get_password()",
        'password = os.environ["DB_PASSWORD"]',
        "password=$DB_PASSWORD",
        "token=None",
        "PWD=/home/me/project",
        "the bearer of good news, and internationalisation",
        "https://example.org:8080/path@2x.png",
        "git@github.com:me/repo.git",
        "我的密码忘了，怎么办？",
        "the secret is to begin",
        "你好🌍",
        "",
        "cookies: a recipe with 200 g of flour = 2 cups",
        "see /usr/lib/python3/dist-packages/somewhere/else and 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
        encoded("The quick brown fox jumps over the lazy dog."),
        encoded("x" * 5000),
    ],
)
def test_leaves_ordinary_text_alone(text: str) -> None:
    assert redact(text) == text


def test_a_configured_key_goes_whatever_it_looks_like_also_escaped() -> None:
    redactor = Redactor(['plain/words and "quotes"', "short"])
    given = (
        'a plain/words and "quotes" b ' + json.dumps('plain/words and "quotes"') + " plain%2Fwords%20and%20%22quotes%22"
    )
    clean = redactor.redact(given)
    assert "words" not in clean
    assert clean.count("[secret:configured]") == 3
    assert redactor.redact("short") == "short"
    assert redactor.redact(encoded('it is plain/words and "quotes"')) == "[secret:encoded]"
    assert "plain" not in repr(redactor)


def test_a_key_learnt_later_goes_too_and_a_marker_never_grows() -> None:
    redactor = Redactor(["configured"])
    redactor.know(["late-comer"])
    once = redactor.redact("late-comer configured")
    assert once == "[secret:configured] configured"
    assert redactor.redact(once) == once


def test_of_two_known_keys_the_longer_goes_whole() -> None:
    assert Redactor(["abcdefgh", "abcdefgh-ijkl"]).redact("abcdefgh-ijkl abcdefgh") == " ".join(
        ["[secret:configured]"] * 2
    )


def test_of_a_header_the_words_that_are_worth_searching_for() -> None:
    assert telling_words("Cookie", "lang=en; sid=9vBtKc4WnJdY8sHf") == ["sid=9vBtKc4WnJdY8sHf", "9vBtKc4WnJdY8sHf"]
    assert telling_words("X-Custom", "Zq8Wn3Rt6Yb1Kd5Mv0") == ["Zq8Wn3Rt6Yb1Kd5Mv0"], "mixed as only keys are"
    assert telling_words("X-Title", "My HologramAgent at home, version 2026-11-30") == []


def test_json_loses_secret_values_and_keeps_its_shape() -> None:
    value = {"env": [{"DB_PASSWORD": "x y", "n": 3, "max_tokens": 5}], "note": f"key {KEY}", "token": "t", "ok": None}
    assert redact_json(value) == {
        "env": [{"DB_PASSWORD": "[secret:password]", "n": 3, "max_tokens": 5}],
        "note": "key [secret:key]",
        "token": "[secret:key]",
        "ok": None,
    }


def test_json_nested_without_end_is_cut_not_followed() -> None:
    value: object = KEY
    for _ in range(DEEPEST * 20):
        value = [value]
    assert KEY not in str(redact_json(value))


PIECES = st.sampled_from(
    [KEY, JWT, PEM, PEM[:50], "password", "token", "=", ":", ": ", '"', "'", " ", "\n", "sk-", "eyJ", "Bearer ", "://",
     "@", "/", "a1b2c3d4e5f6g7h8i9j0", "hunter2", "密码是", "[secret:", "]", encoded(KEY), "cookie: ", "sid=",
     "; ", "AKIA", "ghp_", "is ", "\\", "x", "."]
)  # fmt: skip


@given(st.lists(PIECES | st.text(max_size=5), max_size=25).map("".join))
def test_a_second_pass_changes_nothing(text: str) -> None:
    once = redact(text)
    assert redact(once) == once


@pytest.mark.parametrize("kind", ["password", "configured", "private_key", "encoded", "key"])
def test_a_marker_beside_a_number_is_no_secret(kind: str) -> None:
    """As in an address: it became a marker within a marker, longer with every pass."""
    text = f"http://[secret:{kind}]/v1/chat [secret:{kind}]4711"
    assert redact(text) == text


@given(st.text(max_size=30), st.text(max_size=30))
def test_a_key_never_survives_whatever_stands_around_it(before: str, after: str) -> None:
    assert KEY not in redact(f"{before} {KEY} {after}")


@pytest.mark.parametrize(
    "unit",
    ["sk-", "eyJ-", "eyJaaaaaaaa.", "password", "password=", "a://b:", "Bearer ", "-----BEGIN PRIVATE KEY-----",
     "nvapi-", "eyJ", "token: ", "密码是", "AKIA", "secret_key_", '"token":"', "authorization: basic ", "xoxb-",
     "cookie: ", "cookie: a=bcdefghij;", "cookie=", "QUFB", "QUFBQUFBQUFBQUFBQUFBQUFBQUFB ",
     "c2stcHJvai1BMWIyQzNkNEU1RjZnN0g4STlqMA== "],
)  # fmt: skip
@pytest.mark.parametrize("end", ["", "(", "[", '"', "9"])
def test_no_input_makes_it_slow(unit: str, end: str) -> None:
    # 100 kB of the worst unit: quadratic work would take half a minute, linear takes a few hundredths of a second.
    text = unit * (100_000 // len(unit)) + end
    begun = time.process_time()
    redact(text)
    certain(text)
    assert time.process_time() - begun < 2


@pytest.mark.parametrize("text", ["sk-1-" + "a" * 60_000, "sk-a-" + "9" * 60_000, "xoxb-" + "1" * 60_000])
def test_nor_does_a_key_of_one_kind_of_character(text: str) -> None:
    begun = time.process_time()
    certain(text)
    assert time.process_time() - begun < 2
