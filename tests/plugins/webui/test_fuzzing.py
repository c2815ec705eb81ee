"""Schemathesis against the running page, all checks: no fault of ours, every status and body as the document says."""

from __future__ import annotations

import re

import pytest

from .fuzzing import fuzz, served


@pytest.mark.slow
def test_whatever_is_asked_the_answer_is_as_the_document_says() -> None:
    with served() as (port, key):
        done = fuzz(f"http://127.0.0.1:{port}", key, "--phases", "coverage,fuzzing,stateful", "-n", "4")
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    tested = re.search(r"(\d+) generated, (\d+) passed", done.stdout)
    assert tested is not None
    assert int(tested[1]) == int(tested[2]) > 500, "it really asked"
    assert key not in done.stdout
