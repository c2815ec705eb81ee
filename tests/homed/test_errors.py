"""Errors carry what a person needs and survive the wire."""

from __future__ import annotations

from homed.errors import Denied, HomedError, NotFound, Unavailable, from_code


def test_text_is_the_message_with_what_to_do() -> None:
    assert str(Denied("no", hint="ask the owner")) == "no ask the owner"
    assert str(Denied("no")) == "no"


def test_a_code_rebuilds_its_own_leaf() -> None:
    error = from_code("not_found", "no such thread", hint="list them", detail={"thread": "t"})
    assert type(error) is NotFound
    assert (error.message, error.hint, error.detail) == ("no such thread", "list them", {"thread": "t"})


def test_an_unknown_code_is_still_one_of_ours() -> None:
    assert type(from_code("from-the-future", "x")) is HomedError


def test_every_leaf_has_a_code_of_its_own() -> None:
    def leaves(cls: type[HomedError]) -> list[type[HomedError]]:
        return [cls, *(leaf for sub in cls.__subclasses__() for leaf in leaves(sub))]

    ours = [leaf for leaf in leaves(HomedError) if leaf.__module__ == "homed.errors"]
    codes = [leaf.code for leaf in ours]
    assert len(ours) > 10
    assert len(codes) == len(set(codes))


def test_a_rooms_own_kind_of_an_error_never_comes_out_of_the_wire_in_its_place() -> None:
    class Lost(Unavailable):
        """Shares the code of its base."""

    assert type(from_code("unavailable", "x")) is Unavailable
    assert issubclass(Lost, Unavailable)
