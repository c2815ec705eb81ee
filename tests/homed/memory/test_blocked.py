"""Secrets that may not become facts."""

from __future__ import annotations

import random
import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homed.memory.blocked import cleaned, secret_in, shortened
from homed.redact import redact

RANDOM = "".join(random.Random(3).choices(string.ascii_letters + string.digits, k=40))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE", "private_key"),
        ("AKIAABCDEFGHIJKLMNOP", "aws"),
        ("ghp_abcdefghijklmnopqrstuvwxyz012345", "github"),
        ("xoxb-1234567890-abcdef", "slack"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdefghij", "jwt"),
        ("https://user:pa55w0rd@example.org/", "password"),
        ("password: hunter", "password"),
        ("密码：很长的一串汉字密码", "password"),
        ("пароль: тайна123", "password"),
        ("api_key = zzzzzzzz", "key"),
        ("pay with 4111 1111 1111 1111 today", "card"),
        ("5500-0000-0000-0004", "card"),
        ("4111 1111\n1111 1111", "card"),
        ("4111\u00a01111\u00a01111\u00a01111 and 4111.1111.1111.1111", "card"),
        ("4111111111111111-", "card"),
        ("４１１１ １１１１ １１１１ １１１１", "card"),
        ("4111\u200b1111\u200b1111\u200b1111", "card"),
        ("pass\u200bword: hunter22", "password"),
        ("ｐａｓｓｗｏｒｄ：hunter22", "password"),
        ("pаssword: hunter22", "password"),
        ("sk-ant-\u00adapi03-abcdefABCDEF0123456789", "key"),
        ("sk-ant-api03-abcd\nefABCDEF0123456789", "key"),
        ("ghp_abcdefghijklmnop\n  qrstuvwxyz0123456789", "github"),
        ("мой пароль Qwerty123", "password"),
        ("с паролем: Qwerty123", "password"),
        ("пароль — это Qwerty123", "password"),
        ("Пароль от вайфая: Qwerty123", "password"),
        ("The password for the wifi is Qwerty123", "password"),
        ("密码用的是Qwerty123", "password"),
        ("密码就是Qwerty123", "password"),
        ("**password**: hunter22", "password"),
        ("`password` is `hunter22`", "password"),
        ("| password | hunter22 |", "password"),
        (f"my token {RANDOM}", "random"),
        ("token 0123456789abcdef0123456789abcdef", "random"),
    ],
)
def test_what_is_a_secret(text: str, kind: str) -> None:
    assert secret_in(text) == kind


@pytest.mark.parametrize(
    "text",
    [
        "The order 4111 is late",
        "The number is 1234 5678 9012 3456",
        "0000000000000000",
        f"the build {RANDOM} is green",
        "token aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "The password is kept in the safe",
        "password reset works again",
        "my password manager is Bitwarden2024",
        "token for the third party: OAuth2",
        "commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b fixed the token refresh",
        "пароль от почты я меняю каждый год",
        "пароль должен быть из 12 символов",
        "密码管理器用的是1Password7",
        "2024 1111 2222 3333",
        "密码学很有意思",
        "",
    ],
)
def test_what_is_none(text: str) -> None:
    assert secret_in(text) == ""


def test_where_a_secret_was_taken_out_there_is_none_left() -> None:
    assert secret_in(redact("password: hunter22 and sk-ant-abcdefgh1234567890ab")) == ""


KEYS = [
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEabc\n-----END RSA PRIVATE KEY-----",
    "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNz",
    "AKIAABCDEFGHIJKLMNOP",
    "ASIAABCDEFGHIJKLMNOP",
    "sk-abcdefghijklmnopqrstuvwx",
    "sk-ant-api03-abcdefghijklmnopqrst",
    "sk-proj-ABCDEFGHijklmnopqrstUVWX",
    "gsk_abcdefghijklmnopqrstuvwxyz",
    "hf_abcdefghijklmnopqrstuvwxyz",
    "ghp_abcdefghijklmnopqrstuvwxyzabcdef",
    "gho_abcdefghijklmnopqrstuvwxyzabcdef",
    "github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuv",
    "glpat-abcdefghijklmnopqrst",
    *(f"xox{one}-1234567890-abcdefghij" for one in "abprs"),
    "AIzaSyA-abcdefghijklmnopqrstuvwxyz01234",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
    "postgres://admin:hunter22@db.example.org/x",
    "4111-1111-1111-1111",
    "5500 0000 0000 0004",
    f"key {RANDOM}",
    *(
        f"{name}{mark}abcdef"
        for name in ("password", "passwd", "pwd", "secret", "token", "api_key", "api-key", "apikey", "пароль", "密码",
                     "密钥", "口令", "API key")
        for mark in (":", "=", " = ", "：")
    ),
    "the password is tr0ub4dor",
    "密码是hunter2222",
    "мой пароль - hunter2222",
    "my api key is abcd1234efgh",
]  # fmt: skip
"""One of each pattern."""


@pytest.mark.parametrize("key", KEYS)
def test_every_kind_is_found_and_taken_out(key: str) -> None:
    text = f"Please note: {key} and nothing else."
    assert secret_in(text)
    clean = cleaned(text)
    assert secret_in(clean) == ""
    assert "[secret:" in clean
    assert clean.startswith("Please note: ")
    assert not any(part in clean for part in key.replace("=", " ").replace(":", " ").split()[-1:] if len(part) > 5)
    assert cleaned(clean) == clean


@given(st.lists(st.one_of(st.sampled_from(KEYS), st.text(max_size=30)), max_size=6).map(" ".join))
def test_what_is_clean_stays_as_it_is_whatever_it_was(text: str) -> None:
    clean = cleaned(text)
    assert secret_in(clean) == ""
    assert cleaned(clean) == clean


@pytest.mark.parametrize(
    "text",
    [
        "The password is kept in the safe, the token is expired.",
        "We use scikit (sk-learn) and a secret ingredient.",
        "密码学是一门课，他的口头禅是没问题。",
        "Order 1234 5678 9012 3456, tel. +49 170 1234567",
        "password: [secret:password] thanks",
    ],
)
def test_what_holds_none_is_not_touched(text: str) -> None:
    assert cleaned(text) == text


@pytest.mark.parametrize("key", KEYS)
def test_nothing_is_cut_in_the_middle_of_a_secret(key: str) -> None:
    for before in range(60, 100, 3):
        short = shortened(f"{'x ' * (before // 2)}{key}{' and so on' * 9}", 100)
        assert len(short) <= 100
        assert not any(part[:8] in short for part in re.split("[ =:：是]", key)[-1:]), short
    assert shortened("as it is", 8) == "as it is"


@pytest.mark.parametrize("much", ["a-", "aа", "sk-a\n", "password for ", "1234 ", "а\u200b"])
def test_no_text_is_looked_at_over_and_over(much: str) -> None:
    cleaned(much * (200_000 // len(much)))  # by the square of its length it would take hours
