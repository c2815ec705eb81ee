"""Markdown as lines of a terminal."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.utils import get_cwidth

from waiter.cells import Cells, Glyphs
from waiter.markdown import Markdown, pieces, table

TEXT = """\
# Title 标题

Some *soft* **strong** `code` and [a link](https://e.org/x) 👩‍👩‍👧.

- one
  - two
- three

1. first

2. second

> quoted

```python
def f():
    return "你好"
```

| a | 说明 |
|---|---|
| 1 | 这是一个说明 |

---
"""


def flat(lines: list[Cells]) -> list[str]:
    return ["".join(text for _, text in line).rstrip() for line in lines]


def render(text: str, cells: int = 40, *, growing: bool = False) -> list[str]:
    return flat(Markdown(Glyphs()).lines(text, cells, growing=growing))


def test_everything_a_model_writes_is_shown() -> None:
    lines = render(TEXT)
    assert lines[0] == "Title 标题"
    assert "Some soft strong code and a link" in lines
    assert lines[3].startswith("(https://e.org/x)")
    assert lines[5:8] == ["• one", "  ◦ two", "• three"]
    assert {"1. first", "2. second", "▎ quoted", "│ def f():", '│     return "你好"', "a │ 说明"} <= set(lines)
    styles = {style for line in Markdown(Glyphs()).lines(TEXT, 40) for style, _ in line}
    assert {"class:md.h1", "class:md.strong", "class:md.em", "class:md.code", "class:md.link", "class:md.th"} <= styles
    assert any("pyg.keyword" in style for style in styles)


@pytest.mark.parametrize("cells", [20, 33, 60, 120, 200])
def test_no_line_is_wider_than_the_screen(cells: int) -> None:
    assert all(get_cwidth(line) <= cells for line in render(TEXT * 2, cells))


@given(
    st.text(st.sampled_from([*"ab #*_`>-|1.[]()!~<&\\\n \t", "你", *"👩‍👩‍👧", "\x1b"]), max_size=200),
    st.integers(20, 60),
)
def test_no_text_breaks_it_and_nothing_can_drive_the_terminal(text: str, cells: int) -> None:
    lines = render(text, cells)
    assert all(get_cwidth(line) <= cells for line in lines)
    assert not any("\x1b" in line for line in lines)


@given(st.integers(1, len(TEXT)))
def test_what_was_shown_of_a_growing_text_stays_as_it_was_but_for_its_last_piece(at: int) -> None:
    early, late = pieces(TEXT[:at]), pieces(TEXT)
    assert late[: len(early) - 1] == early[:-1]


def test_escape_sequences_in_any_place_become_signs() -> None:
    text = (
        "\x1b]0;t\x07 `\x1b[2J` [x\x1b[31m](http://e/\x1b[m)\n\n```\n\x1b[?1049l\n```\n\n| \x1b[1m |\n|---|\n| \x9b |\n"
    )
    made = "\n".join(render(text))
    assert not any((ord(char) < 32 and char != "\n") or 0x7F <= ord(char) < 0xA0 for char in made)


def test_a_table_that_does_not_fit_becomes_a_list() -> None:
    head, row = [f"column {n}" for n in range(8)], [f"value {n}" for n in range(8)]
    lines = flat(table([head, row], 30))
    assert lines[0] == "column 0: value 0"
    assert all(get_cwidth(line) <= 30 for line in lines)


def test_html_and_images_stay_text_and_a_link_tells_where_it_leads() -> None:
    lines = render("<script>x</script> ![alt](http://e/p.png) <http://e.org> [a@e.org](mailto:a@e.org)", 200)
    assert lines == ["<script>x</script> [alt] (http://e/p.png) http://e.org a@e.org"]


def test_a_long_answer_is_quick_while_it_grows() -> None:
    markdown, text = Markdown(Glyphs()), "Some words of a paragraph that is not short at all.\n\n" * 2000
    markdown.lines(text, 80)
    before = time.thread_time()
    markdown.lines(text + "and more", 80, growing=True)
    assert time.thread_time() - before < 2  # some 20 ms of a core today; without what is remembered many seconds


@pytest.mark.parametrize(
    "text",
    [
        "*" * 20_000,
        "[" * 20_000,
        "> " * 500 + "x",
        "- " * 300 + "x",
        "|" * 5000,
        "`" * 9999,
        "```python\n" + "\n   " * 4_800 + "x\n```",
        "```js\n" + ("a.b" * 330 + "\n") * 19 + "```",
        "```java\n" + "[a" * 9_900 + "\n```",
    ],
)
def test_texts_made_to_be_slow_are_not(text: str) -> None:
    before = time.thread_time()  # of this thread alone: others share the machine
    render(text)
    assert time.thread_time() - before < 4
