"""The log: redacted, private, bounded, and never in the way."""

from __future__ import annotations

import io
import logging
import stat
from pathlib import Path

import pytest

from homed.log import logging_to, set_level


def hide(text: str) -> str:
    return text.replace("sk-secret", "[secret]")


def test_every_line_goes_to_both_places_redacted_also_in_tracebacks(tmp_path: Path) -> None:
    """D6: no key in the log, wherever it came from."""
    shown, path = io.StringIO(), tmp_path / "homed.log"
    with logging_to(path, level="info", redact=hide, stream=shown):
        log = logging.getLogger("homed.test")
        log.info("key %s", "sk-secret")
        try:
            raise ValueError("with sk-secret inside")
        except ValueError:
            log.exception("failed")
    for text in (shown.getvalue(), path.read_text(encoding="utf-8")):
        assert "sk-secret" not in text
        assert "key [secret]" in text
        assert "ValueError: with [secret] inside" in text


def test_the_file_is_readable_by_this_user_alone(tmp_path: Path) -> None:
    path = tmp_path / "homed.log"
    with logging_to(path, level="info", redact=hide, stream=io.StringIO()):
        logging.getLogger("homed").info("x")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_file_that_cannot_be_opened_is_a_warning_and_stderr_remains(tmp_path: Path) -> None:
    shown = io.StringIO()
    with logging_to(tmp_path / "absent" / "homed.log", level="info", redact=hide, stream=shown):
        logging.getLogger("homed").info("still here")
    assert "no log file" in shown.getvalue()
    assert "still here" in shown.getvalue()


def test_the_level_changes_while_running_and_libraries_stay_quiet() -> None:
    shown = io.StringIO()
    with logging_to(None, level="info", redact=hide, stream=shown):
        logging.getLogger("homed.a").debug("one")
        set_level("debug")
        logging.getLogger("homed.a").debug("two")
        logging.getLogger("plugin.shell").debug("three")
        logging.getLogger("httpx2").info("request body")
        set_level("error")
        logging.getLogger("homed.a").warning("four")
    assert [line.rsplit(" ", 1)[1] for line in shown.getvalue().splitlines()] == ["two", "three"]


def test_leaving_the_block_leaves_nothing_behind() -> None:
    before = list(logging.getLogger().handlers), logging.getLogger().level
    with logging_to(None, level="debug", redact=hide, stream=io.StringIO()):
        pass
    assert (list(logging.getLogger().handlers), logging.getLogger().level) == before


def test_an_unknown_level_is_refused() -> None:
    with pytest.raises(ValueError, match="loud"):
        set_level("loud")


def test_lines_stay_lines_when_the_text_is_not_unicode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging.getLogger(), "handlers", [])  # pytest-xdist cannot send such a captured line
    path = tmp_path / "homed.log"
    with logging_to(path, level="info", redact=hide, stream=io.StringIO()):
        logging.getLogger("homed").info("broken \udcff 你好")
    assert "broken \\udcff 你好" in path.read_text(encoding="utf-8")
