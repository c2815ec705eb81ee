"""Markdown as models write it → HTML that is safe to put into a page, one string a top-level block.

Pure.  Three walls against markup that a model, a tool or a person smuggles in: raw HTML is text to the parser, what the
parser makes goes through an allow-list (nh3), and the page's Content-Security-Policy runs no inline script.  An image
becomes a link, because loading it would tell its server what was talked about.
"""

from __future__ import annotations

import html
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.renderer import RendererHTML
    from markdown_it.rules_core import StateCore
    from markdown_it.token import Token
    from markdown_it.utils import EnvType, OptionsDict

MAX_HIGHLIGHT = 20_000
"""Characters of one code block above which it is shown plain: lexers are not all linear."""
CODE_SECONDS = 0.5
"""Seconds of colouring that one text is worth; ten thousand blank lines of Python would take a minute.  What is shown
is the same with and without."""
_NO_CODE = re.compile(r"[^\n]{1000}|\s{300}")
"""A line, or a run of blanks and line ends, that no code has: its block is shown plain, because one pattern of a lexer
may go over it again and again, and nothing stops it meanwhile."""
MAX_TEXT = 200_000
"""Characters above which a text is shown as it is, without markup."""
MAX_LINES = 5_000
"""Lines above which it is, too: each may begin or end any kind of block, and the parser tries them all.  Half a
second."""
MAX_WORK = 10_000_000
"""Comparisons of marks within paragraphs, headings and cells that one text is worth: some half a second.  The parser
compares each mark with those before it, and a model that repeats itself would hold up every page for many seconds."""
MAX_TOKENS = 20_000
"""Pieces of structure above which a text is shown without any: some half a second of rendering."""

_MARKS = re.compile(r"[*_~\[\]!<`&\\]")
_TAGS = {
    "a", "blockquote", "br", "code", "del", "div", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p",
    "pre", "s", "span", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
_ATTRIBUTES = {"a": {"href", "title", "class", "target"}, "ol": {"start"}, "pre": {"data-lang"}, "span": {"class"}}
_SCHEMES = {"http", "https", "mailto"}

Piece = TypeVar("Piece")


class _TooSlow(Exception):
    """The colouring of this text has taken its time."""


def _fence(_self: RendererHTML, tokens: Sequence[Token], idx: int, _options: OptionsDict, env: EnvType) -> str:
    token = tokens[idx]
    words = token.info.split()
    language = words[0].lower()[:32] if words else ""
    began = time.thread_time()
    code = _code(token.content, language, env.get("seconds", CODE_SECONDS))
    env["seconds"] = env.get("seconds", CODE_SECONDS) - (time.thread_time() - began)
    return f'<pre data-lang="{html.escape(language)}"><code>{code}</code></pre>\n'


def _image(_self: RendererHTML, tokens: Sequence[Token], idx: int, _options: OptionsDict, _env: EnvType) -> str:
    token = tokens[idx]
    source = str(token.attrGet("src") or "")
    label = html.escape(token.content or source)
    return f'<a class="picture" href="{html.escape(source)}">{label}</a>'


def _table_open(_self: RendererHTML, _tokens: Sequence[Token], _idx: int, _o: OptionsDict, _env: EnvType) -> str:
    return "<div><table>\n"  # the div scrolls where the table is wider than the column


def _table_close(_self: RendererHTML, _tokens: Sequence[Token], _idx: int, _o: OptionsDict, _env: EnvType) -> str:
    return "</table></div>\n"


def _code(text: str, language: str, seconds: float = CODE_SECONDS) -> str:
    """``text`` as HTML, coloured when the language is known, the text not too long, and ``seconds`` are enough."""
    if not language or seconds <= 0 or len(text) > MAX_HIGHLIGHT or _NO_CODE.search(text):
        return html.escape(text)
    from pygments import format as formatted
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        lexer = get_lexer_by_name(language)
        return str(formatted(_within(seconds, lexer.get_tokens(text)), HtmlFormatter(nowrap=True)))
    except (ClassNotFound, _TooSlow):
        return html.escape(text)


def _within(seconds: float, pieces: Iterator[Piece]) -> Iterator[Piece]:
    """The pieces as long as making them takes no longer.  Raises _TooSlow."""
    until = time.thread_time() + seconds
    for piece in pieces:
        if time.thread_time() > until:
            raise _TooSlow
        yield piece


def _inline(state: StateCore) -> None:
    """The parser's own step from blocks to inline markup; what would be too much work stays text."""
    from markdown_it.token import Token

    left = MAX_WORK
    for token in state.tokens:
        if token.type == "inline":
            work = len(_MARKS.findall(token.content)) ** 2
            if work > left:
                token.children = [Token("text", "", 0, content=token.content)]
            else:
                left -= work
                token.children = []
                state.md.inline.parse(token.content, state.md, state.env, token.children)


def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # a tenth of this plugin's start, and the first page one sees is the door

    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": 40}).enable(["table", "strikethrough"])
    parser.core.ruler.at("inline", _inline)
    parser.add_render_rule("fence", _fence)
    parser.add_render_rule("image", _image)
    parser.add_render_rule("table_open", _table_open)
    parser.add_render_rule("table_close", _table_close)
    return parser


def _clean(markup: str) -> str:
    import nh3

    return nh3.clean(
        markup,
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        url_schemes=_SCHEMES,
        link_rel="noopener noreferrer nofollow",
        set_tag_attribute_values={"a": {"target": "_blank"}},
    )


def plain(text: str) -> str:
    """``text`` as one safe block with its line breaks kept."""
    return f'<pre class="plain">{html.escape(text)}</pre>'


class Markdown:
    """A renderer; holds a parser, no text.  Not for use from two threads at once."""

    @cached_property
    def _md(self) -> MarkdownIt:
        return _parser()

    def blocks(self, text: str) -> list[str]:
        """Every top-level block of ``text`` as safe HTML, in order."""
        return [markup for markup, _ in self.spans(text)]

    def html(self, text: str) -> str:
        """The whole text as safe HTML."""
        return "".join(self.blocks(text))

    def spans(self, text: str) -> list[tuple[str, int]]:
        """Each top-level block as (safe HTML, its first line, counted from 0)."""
        if len(text) > MAX_TEXT or text.count("\n") > MAX_LINES:
            return [(plain(text), 0)]
        env: EnvType = {}
        group: list[Token] = []
        found: list[tuple[str, int]] = []
        depth = 0
        tokens = self._md.parse(text, env)
        if len(tokens) > MAX_TOKENS:
            return [(plain(text), 0)]
        for token in tokens:
            group.append(token)
            depth += token.nesting
            if depth == 0:
                start = group[0].map[0] if group[0].map else 0
                found.append((_clean(self._md.renderer.render(group, self._md.options, env)), start))
                group = []
        return found


@dataclass(slots=True)
class Growing:
    """A text that grows while it is shown: only what can still change is parsed again.

    In Markdown the last block may turn into something else with the next line, and a line that is not whole yet may
    still join the block before it.  What stands before the last block that began with a whole line is settled (but for
    link definitions further down, which the final rendering puts right).
    """

    markdown: Markdown
    settled: list[str] = field(default_factory=list)
    _settled_lines: int = 0
    shown: list[str] = field(default_factory=list)

    def update(self, text: str) -> tuple[int, list[str]]:
        """Blocks for the text so far: how many of those shown last time stay, and the ones that follow them."""
        lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        spans = self.markdown.spans("\n".join(lines[self._settled_lines :]))
        blocks = [*self.settled, *(markup for markup, _ in spans)]
        unfinished = len(lines) - 1 - self._settled_lines
        begun = [place for place, (_, start) in enumerate(spans) if start < unfinished]
        if begun and begun[-1] > 0:
            self.settled += [markup for markup, _ in spans[: begun[-1]]]
            self._settled_lines += spans[begun[-1]][1]
        return self._show(blocks)

    def finish(self, text: str) -> tuple[int, list[str]]:
        """The same for the final text, parsed as a whole."""
        return self._show(self.markdown.blocks(text))

    def _show(self, blocks: list[str]) -> tuple[int, list[str]]:
        keep = 0
        for old, new in zip(self.shown, blocks, strict=False):
            if old != new:
                break
            keep += 1
        self.shown = blocks
        return keep, blocks[keep:]
