"""Secrets that may not become facts."""

from __future__ import annotations

import random
import string

import pytest

from homed.memory.blocked import secret_in
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
        "密码学很有意思",
        "",
    ],
)
def test_what_is_none(text: str) -> None:
    assert secret_in(text) == ""


def test_where_a_secret_was_taken_out_there_is_none_left() -> None:
    assert secret_in(redact("password: hunter22 and sk-ant-abcdefgh1234567890ab")) == ""
