"""What is raised out of the nursery tree."""

from __future__ import annotations

from homed.errors import StorageError
from homed.lifecycle import cause_of


def grouped(*errors: BaseException) -> BaseExceptionGroup[BaseException]:
    return BaseExceptionGroup("nursery", [BaseExceptionGroup("inner", list(errors))])


def test_a_second_signal_is_an_interrupt_and_no_group() -> None:
    assert type(cause_of(grouped(KeyboardInterrupt(), KeyboardInterrupt()))) is KeyboardInterrupt


def test_an_error_of_ours_comes_out_alone_also_beside_a_signal() -> None:
    error = StorageError("full")
    assert cause_of(grouped(error)) is error
    assert cause_of(grouped(error, KeyboardInterrupt())) is error


def test_whatever_else_keeps_its_group_and_so_its_traceback() -> None:
    first, second = ValueError("a"), StorageError("b")
    left = cause_of(grouped(first, second))
    assert isinstance(left, BaseExceptionGroup)
    assert left.subgroup(lambda e: e in (first, second)) is not None
