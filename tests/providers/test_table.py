"""docs/providers.md tells what the suite plays, and nothing else."""

from __future__ import annotations

from tests.providers.table import BEGIN, DOCUMENT, END, table


def test_the_document_has_the_table_of_this_suite() -> None:
    text = DOCUMENT.read_text("utf-8")
    written = text.partition(BEGIN)[2].partition(END)[0].strip()
    assert written == table(), "run: python -m tests.providers.table"
