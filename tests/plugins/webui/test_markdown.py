"""Whatever a model writes, the page shows it, and runs none of it; a growing text never shows anything twice."""

from __future__ import annotations

import time
from html.parser import HTMLParser

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from plugins.webui.markdown import MAX_TEXT, Growing, Markdown, plain

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](data:text/html,<script>alert(1)</script>)",
    "![x](javascript:alert(1))",
    '![x" onerror="alert(1)](http://a)',
    '[x](http://a "t\\" onmouseover=\\"alert(1)")',
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "```<img src=x onerror=alert(1)>\ncode\n```",
    '```py" onmouseover="alert(1)\ncode\n```',
    "<style>*{display:none}</style>",
    "<form action=http://evil><input name=password></form>",
    "<a href='javascript:alert(1)'>x</a>",
    "`<script>alert(1)</script>`",
    "|<script>alert(1)</script>|\n|-|\n|<img src=x onerror=alert(1)>|",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
]


class Reader(HTMLParser):
    """What a browser would see: every tag with its attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))


TAGS = {
    "a", "blockquote", "br", "code", "del", "div", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p",
    "pre", "s", "span", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
ATTRIBUTES = {"href", "title", "class", "target", "rel", "start", "data-lang"}


def assert_harmless(text: str) -> None:
    for tag, attributes in Reader(Markdown().html(text)).tags:
        assert tag in TAGS
        assert attributes.keys() <= ATTRIBUTES
        assert attributes.get("href", "http:").lower().partition(":")[0] in ("http", "https", "mailto")


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_hostile_survives_as_markup(text: str) -> None:
    """XSS: tags are text, attributes are ours, schemes are few."""
    assert_harmless(text)


@given(st.text(alphabet="<>\"'=/ abconerrhtp:jvs`*_[]()!#|-\n;&", max_size=200))
@settings(max_examples=200, deadline=None)
def test_only_known_tags_and_attributes_come_out(text: str) -> None:
    assert_harmless(text)


def test_html_is_text() -> None:
    assert Markdown().html("<b>x</b> <!-- y -->") == "<p>&lt;b&gt;x&lt;/b&gt; &lt;!-- y --&gt;</p>\n"


def test_an_image_becomes_a_link_so_that_nothing_is_loaded_from_elsewhere() -> None:
    html = Markdown().html("![a cat](https://evil.example/x.png?q=secret)")
    assert "<img" not in html
    assert '<a class="picture" href="https://evil.example/x.png?q=secret"' in html
    assert "a cat" in html


def test_links_open_elsewhere_and_tell_nothing() -> None:
    html = Markdown().html("[x](https://example.org)")
    assert 'rel="noopener noreferrer nofollow"' in html
    assert 'target="_blank"' in html


def test_code_is_coloured_when_its_language_is_known_and_safe_when_not() -> None:
    assert '<span class="k">def</span>' in Markdown().html("```python\ndef f(): pass\n```")
    unknown = Markdown().html("```nosuchlanguage\n<b>\n```")
    assert "&lt;b&gt;" in unknown
    assert 'data-lang="nosuchlanguage"' in unknown


def test_tables_lists_and_numbers_are_shown() -> None:
    html = Markdown().html("|a|b|\n|-|-|\n|1|2|\n\n3. x\n\n- y\n\n~~z~~")
    assert "<table>" in html
    assert '<ol start="3">' in html
    assert "<s>z</s>" in html


def test_a_very_long_text_is_shown_plain() -> None:
    text = "<b>" + "x" * MAX_TEXT
    assert Markdown().blocks(text) == [plain(text)]
    assert "&lt;b&gt;" in plain(text)


@pytest.mark.parametrize(
    "text",
    [
        "> " * 20_000 + "x",
        "[" * MAX_TEXT,
        "*a " * 20_000,
        "_a_ " * 50_000,
        "![[" * 66_000,
        ("[" * 900 + "\n\n") * 220,
        "|a" * 3000 + "|\n" + "|-" * 3000 + "|\n" + ("|x" * 3000 + "|\n") * 15,
        "# x\n" * 50_000,
        "`" + "a``" * 10_000,
        "- " * 5_000,
        "- a\n" * 49_000,
        '[a]: b "' + "x\n" * 99_000,
        "a|b\n-|-\n" + "a|b\n" * 49_000,
        ("- a\n" * 4_900),
        "```python\n" + "\n   " * 4_800 + "x\n```",
        ("```js\n" + ("a.b" * 330 + "\n") * 19 + "```\n\n") * 9,
        "```python\n" + ("\n " * 140 + "x") * 35 + "\n```",
        "```java\n" + "[a" * 9_900 + "\n```",
    ],
    ids=lambda text: text[:12],
)
def test_no_text_takes_long(text: str) -> None:
    began = time.thread_time()  # of this thread alone: others share the machine
    Markdown().blocks(text)
    assert time.thread_time() - began < 4


def test_what_would_take_long_is_shown_as_it_is_and_the_rest_with_its_markup() -> None:
    blocks = Markdown().blocks("*one*\n\n" + "_a_ " * 20_000 + "\n\n*two*")
    assert (blocks[0], blocks[2]) == ("<p><em>one</em></p>\n", "<p><em>two</em></p>\n")
    assert blocks[1] == f"<p>{('_a_ ' * 20_000).strip()}</p>\n"
    many = "# *x*\n" * 10_000
    assert Markdown().blocks(many) == [plain(many)]


def test_slow_code_loses_its_colours_and_nothing_else() -> None:
    code = "\n   " * 4_800 + "<x>"
    assert Markdown().html(f"```python\n{code}\n```") == (
        f'<pre data-lang="python"><code>{code.replace("<x>", "&lt;x&gt;")}\n</code></pre>\n'
    )
    assert "<span" in Markdown().html("```python\n" + "def f(): return 1\n" * 1_000 + "```")


TEXTS = [
    "para\nmore\n\n- a\n- b\n\n  c\n\n```py\nx=1\n\ny=2\n```\n\nend *it*\n---\n",
    "# h\n\n|a|b|\n|-|-|\n|1|2|\n\n1. x\n\n   y\n2. z\n\n> q\n> r\n\nlast",
    "你好,**世界**\n\n```\n代码\n```\n\n- 一\n- 二\n",
    "a\r\n\r\nb\r\n\r\n- c\r\n",
    "~~~\nunclosed\n\nfence",
]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("size", [1, 3, 7])
def test_a_growing_text_ends_as_if_it_had_come_whole(text: str, size: int) -> None:
    """E41: never duplicates text."""
    growing, page = Growing(Markdown()), list[str]()
    for end in range(size, len(text) + size, size):
        keep, blocks = growing.update(text[:end])
        page = page[:keep] + blocks
    assert page == Markdown().blocks(text)
    keep, blocks = growing.finish(text)
    assert page[:keep] + blocks == Markdown().blocks(text)


words = st.sampled_from(
    ["a ", "b\n", "\n", "- ", "```\n", "    ", "# ", "> ", "1. ", "|x|y|\n", "|-|-|\n", "**", "---\n"]
)


@given(st.lists(words, max_size=40), st.integers(1, 5))
@example(["1. ", "\n", "1. "], 1)  # a line that is not whole yet may still join the block before it
@settings(max_examples=200, deadline=None)
def test_any_growing_text_ends_as_if_it_had_come_whole(parts: list[str], size: int) -> None:
    text = "".join(parts)
    growing, page = Growing(Markdown()), list[str]()
    for end in [*range(0, len(text), size), len(text)]:
        keep, blocks = growing.update(text[:end])
        page = page[:keep] + blocks
    assert page == Markdown().blocks(text)


def test_only_what_changed_is_sent_again() -> None:
    growing = Growing(Markdown())
    growing.update("one\n\ntwo\n\nthr")
    assert growing.update("one\n\ntwo\n\nthree") == (2, ["<p>three</p>\n"])
