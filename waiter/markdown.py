"""Markdown as models write it → lines of a terminal.  Pure but for what it remembers.

Whatever the text says becomes text: escape sequences are neutralised before anything is parsed, raw HTML and images
are shown as they were written, links with their address.  A text is cut at blank lines first, so that of one that
grows only the last piece is parsed again, and the end changes nothing above it.
"""

from __future__ import annotations

import re
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from .cells import Cells, Fragment, Glyphs, clean, cut, hard, pad, width, wrap

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

KEPT = 2000
"""Pieces whose lines are remembered: hundreds of screens."""
LONG = 6000
"""Characters of a piece without a blank line that are parsed at once; more is cut at a line end."""
PLAIN_CODE, GROWING_CODE = 20_000, 3000
"""Characters of code above which it is not coloured, whole and while it still grows: lexers are not all linear."""
CODE_SECONDS = 0.2
"""Seconds of colouring that one piece is worth; thousands of blank lines of Python would take a minute."""
MARKS = 400
"""Marks in one piece above which it is shown as it is: the parser compares each with those before it."""
BULLETS = "•◦▪"

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_NO_CODE = re.compile(r"[^\n]{1000}|\s{300}")
"""A line, or a run of blanks, that no code has: it is not coloured, as one pattern may go over it again and again."""
_MARK = re.compile(r"[*_~\[\]!<`&\\]")


class Markdown:
    """Renders; remembers lines of pieces by text and width."""

    def __init__(self, glyphs: Glyphs) -> None:
        self._glyphs = glyphs
        self._parser: MarkdownIt | None = None
        self._lines: OrderedDict[tuple[str, int], list[Cells]] = OrderedDict()

    def lines(self, text: str, cells: int, *, growing: bool = False) -> list[Cells]:
        """The text as lines of at most ``cells``; ``growing``: more of it may come."""
        found: list[Cells] = []
        parts = pieces(self._glyphs.fit(clean(text)))
        for at, part in enumerate(parts):
            made = self._piece(part, cells, growing=growing and at == len(parts) - 1)
            if found and made:
                found.append(())
            found += made
        return found

    def _piece(self, part: str, cells: int, *, growing: bool) -> list[Cells]:
        if growing:
            return self._render(part, cells, growing=True)
        key = (part, cells)
        if key not in self._lines:
            if len(self._lines) >= KEPT:
                self._lines.popitem(last=False)
            self._lines[key] = self._render(part, cells, growing=False)
        self._lines.move_to_end(key)
        return self._lines[key]

    def _render(self, part: str, cells: int, *, growing: bool) -> list[Cells]:
        fence = _FENCE.match(part)
        if not fence and len(_MARK.findall(part)) > MARKS:
            return [line for row in part.split("\n") for line in wrap([("", row)], cells)]
        if self._parser is None:
            from markdown_it import MarkdownIt  # a tenth of a second: not before the first answer

            self._parser = MarkdownIt("commonmark", {"html": False, "maxNesting": 30}).enable(
                ["table", "strikethrough"]
            )
        return Block(self._parser.parse(part), cells, growing=growing).lines()


def pieces(text: str) -> list[str]:
    """The text cut where nothing above can change any more: at blank lines outside of code, before what stands at the
    left margin; and a long piece at a line end."""
    found: list[str] = []
    lines: list[str] = []
    fence, size, blank = "", 0, False
    for line in text.replace("\r", "\n").split("\n"):
        mark = _FENCE.match(line)
        fresh = (blank and not line[:1].isspace()) or (not fence and size > LONG)
        if lines and not fence and line.strip() and fresh:
            found.append("\n".join(lines).rstrip("\n"))
            lines, size = [], 0
        if mark and not fence:
            if lines and not blank and not line[:1].isspace():
                found.append("\n".join(lines).rstrip("\n"))
                lines, size = [], 0
            fence = mark[1]
        elif (
            fence and mark and mark[1][0] == fence[0] and len(mark[1]) >= len(fence) and not line[mark.end() :].strip()
        ):
            fence = ""
        lines.append(line)
        size += len(line) + 1
        blank = not line.strip()
    found.append("\n".join(lines).rstrip("\n"))
    return [part for part in found if part.strip()]


class Block:
    """The lines of one piece."""

    def __init__(self, tokens: Sequence[Token], cells: int, *, growing: bool) -> None:
        self._tokens = tokens
        self._cells = max(1, cells)
        self._growing = growing
        self._at = 0

    def lines(self) -> list[Cells]:
        """All of them."""
        return self._blocks((), (), "")

    def _blocks(self, first: Cells, rest: Cells, until: str, *, tight: bool = False) -> list[Cells]:
        """Lines until a closing token; the first begins with ``first``, the others with ``rest``."""
        found: list[Cells] = []
        start = first
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            self._at += 1
            if token.type == until:
                break
            made = self._block(token, start, rest)
            if not made:
                continue
            if found and not tight:
                found.append(rest if any(text.strip() for _, text in rest) else ())
            found += made
            start = rest
        return found or ([first] if first else [])

    def _block(self, token: Token, first: Cells, rest: Cells) -> list[Cells]:
        kind = token.type
        if kind in ("paragraph_open", "heading_open"):
            inline = self._tokens[self._at]
            self._at += 2
            style = f"class:md.h{token.tag[1:]}" if kind == "heading_open" else ""
            return wrap(_inline(inline.children or [], style), self._cells, first=first, rest=rest)
        if kind in ("fence", "code_block"):
            return self._code(token, first, rest)
        if kind in ("bullet_list_open", "ordered_list_open"):
            return self._list(token, first, rest)
        if kind == "blockquote_open":
            bar: Cells = (("class:md.quote", "▎ "),)
            return self._blocks((*first, *bar), (*rest, *bar), "blockquote_close")
        if kind == "table_open":
            return self._table(first, rest)
        if kind == "hr":
            wide = max(1, min(40, self._cells - sum(width(text) for _, text in first)))
            return [(*first, ("class:md.rule", "─" * wide))]
        if token.content:
            return wrap([("", token.content.rstrip("\n"))], self._cells, first=first, rest=rest)
        return []

    def _list(self, token: Token, first: Cells, rest: Cells) -> list[Cells]:
        ordered = token.type == "ordered_list_open"
        number = int(token.attrGet("start") or 1) if ordered else 0
        close, start = token.type.replace("open", "close"), first
        found: list[Cells] = []
        tight = self._tight()
        bullet = BULLETS[min(token.level // 2, len(BULLETS) - 1)]
        while self._tokens[self._at].type != close:
            self._at += 1  # list_item_open
            mark = f"{number}. " if ordered else f"{bullet} "
            indent: Cells = (("", " " * width(mark)),)
            made = self._blocks((*start, ("class:md.bullet", mark)), (*rest, *indent), "list_item_close", tight=tight)
            if found and not tight:
                found.append(())
            found += made
            number, start = number + 1, rest
        self._at += 1
        return found

    def _tight(self) -> bool:
        """Whether the paragraphs of the list that begins here stand without blank lines between them."""
        for token in self._tokens[self._at :]:
            if token.type == "paragraph_open":
                return token.hidden
        return True

    def _code(self, token: Token, first: Cells, rest: Cells) -> list[Cells]:
        bar: Cells = (("class:md.bar", "│ "),)
        language = token.info.split()[0].lower()[:32] if token.info.split() else ""
        limit = GROWING_CODE if self._growing else PLAIN_CODE
        rows = coloured(token.content.rstrip("\n"), language if len(token.content) <= limit else "")
        found: list[Cells] = []
        start = first
        for row in rows:
            found += hard(row, self._cells, first=(*start, *bar), rest=(*rest, *bar))
            start = rest
        return found

    def _table(self, first: Cells, rest: Cells) -> list[Cells]:
        rows: list[list[str]] = []
        while self._tokens[self._at].type != "table_close":
            token = self._tokens[self._at]
            self._at += 1
            if token.type == "tr_open":
                rows.append([])
            elif token.type == "inline":
                rows[-1].append("".join(text for _, text in _inline(token.children or [], "")).replace("\n", " "))
        self._at += 1
        room = self._cells - sum(width(text) for _, text in rest)
        made = table(rows, room)
        return [(*(first if at == 0 else rest), *line) for at, line in enumerate(made)]


def table(rows: list[list[str]], cells: int) -> list[Cells]:
    """Rows (the first is the head) in columns if that fits, else each row as ``head: value`` lines."""
    count = len(rows[0])
    wide = [max(width(row[n]) for row in rows if n < len(row)) for n in range(count)]
    room = cells - 3 * (count - 1)
    if room < 6 * count and sum(wide) > room:
        return _as_list(rows, cells)
    while sum(wide) > room:
        widest = max(wide)
        wide[wide.index(widest)] = widest - 1
    bar: Fragment = ("class:md.bar", " │ ")
    found: list[Cells] = []
    for at, row in enumerate(rows):
        style = "class:md.th" if at == 0 else ""
        texts = [row[n] if n < len(row) else "" for n in range(count)]
        parts = [wrap([("", text)], size) for text, size in zip(texts, wide, strict=True)]
        for line in range(max(map(len, parts))):
            made: list[Fragment] = []
            for n, part in enumerate(parts):
                text = "".join(text for _, text in part[line]) if line < len(part) else ""
                made += [(style, pad(text, wide[n])), bar]
            found.append(tuple(made[:-1]))
        if at == 0:
            found.append((("class:md.bar", "─┼─".join("─" * size for size in wide)),))
    return found


def _as_list(rows: list[list[str]], cells: int) -> list[Cells]:
    head = rows[0]
    found: list[Cells] = []
    for at, row in enumerate(rows[1:]):
        found += [()] if at else []
        for name, value in zip(head, row, strict=False):
            found += wrap([("class:md.th", f"{name}: "), ("", value)], cells, rest=(("", "  "),))
    return found or [(("class:md.th", cut(", ".join(head), cells)),)]


STYLES = {
    "strong_open": "class:md.strong",
    "em_open": "class:md.em",
    "s_open": "class:md.del",
    "link_open": "class:md.link",
}


def _inline(children: Sequence[Token], style: str) -> Iterator[Fragment]:
    """Inline markup as fragments; a link's address follows its text unless it is that."""
    styles, links, said = [style], [], ""
    for token in children:
        now = " ".join(styles).strip()
        if token.type in STYLES:
            styles.append(STYLES[token.type])
            if token.type == "link_open":
                links.append(str(token.attrGet("href") or ""))
                said = ""
        elif token.nesting < 0 and len(styles) > 1:
            styles.pop()
            if token.type == "link_close" and (href := links.pop()) not in (said, f"mailto:{said}"):
                yield f"{style} class:md.url".strip(), f" ({href})"
        elif token.type == "code_inline":
            said += token.content
            yield f"{now} class:md.code".strip(), token.content
        elif token.type == "image":
            yield f"{now} class:md.link".strip(), f"[{token.content}] ({token.attrGet('src') or ''})"
        elif token.type in ("softbreak", "hardbreak"):
            yield now, "\n"
        else:
            said += token.content
            yield now, token.content


def coloured(code: str, language: str) -> list[list[Fragment]]:
    """Code as lines of fragments, coloured when the language is known and that takes no longer than it may."""
    if language and not _NO_CODE.search(code):
        from pygments.lexers import get_lexer_by_name
        from pygments.util import ClassNotFound

        try:
            lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
        except ClassNotFound:
            pass
        else:
            until, found = time.thread_time() + CODE_SECONDS, []
            for kind, text in lexer.get_tokens(code):
                found.append((_style(kind), text))
                if time.thread_time() > until:
                    break
            else:
                return _rows(iter(found))
    return [[("class:md.pre", line)] for line in code.split("\n")]


def _rows(found: Iterator[Fragment]) -> list[list[Fragment]]:
    rows: list[list[Fragment]] = [[]]
    for style, text in found:
        for at, part in enumerate(text.split("\n")):
            if at:
                rows.append([])
            if part:
                rows[-1].append((style, part))
    return rows


def _style(kind: object) -> str:
    """``Token.Name.Function`` as ``class:md.pre class:pyg.name.function``, which styles fall back along."""
    return f"class:md.pre class:pyg.{str(kind).removeprefix('Token.').lower()}"
