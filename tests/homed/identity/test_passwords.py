"""Password hashes."""

from __future__ import annotations

import pytest

from homed.identity.passwords import hash_password, is_hash, verify_password


def test_only_the_right_password_matches_and_the_text_is_not_in_the_hash() -> None:
    stored = hash_password("correct horse 电池")
    assert verify_password("correct horse 电池", stored)
    assert not verify_password("correct horse", stored)
    assert "horse" not in stored
    assert is_hash(stored)


def test_the_same_password_twice_gives_two_hashes() -> None:
    assert hash_password("same") != hash_password("same")


@pytest.mark.parametrize("stored", ["", "plain", "scrypt$1$2$3", "scrypt$x$8$1$AA==$AA==", "scrypt$32768$8$1$!$!"])
def test_what_is_no_hash_matches_nothing(stored: str) -> None:
    assert not verify_password(stored, stored)
