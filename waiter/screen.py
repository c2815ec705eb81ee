"""The window: the conversation above, what is typed below, and the state between them and Trio."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from prompt_toolkit.application import Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.data_structures import Point
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import History
from prompt_toolkit.layout import (
    BufferControl,
    ConditionalContainer,
    Dimension,
    Float,
    FloatContainer,
    FormattedTextControl,
    HSplit,
    Layout,
    UIContent,
    UIControl,
    Window,
)
from prompt_toolkit.layout.menus import CompletionsMenu
from prompt_toolkit.layout.processors import AfterInput, ConditionalProcessor, PasswordProcessor
from prompt_toolkit.mouse_events import MouseEvent, MouseEventType
from prompt_toolkit.output import Output
from prompt_toolkit.styles import DynamicStyle, Style

from . import view
from .cells import Cells
from .completion import Commands
from .keyed import question
from .keys import bindings
from .messages import Call, Dial, Effect, Export, Heard, Leave, Message, Moved, Pressed, Replied, Told, Typed, Upload
from .model import Place, State
from .theme import rules
from .update import update
from .view import Painter
from .words import Words

Submit = Callable[[Call | Dial | Upload | Export], None]

BEAT = 0.04
"""Seconds between two drawings of what streams; what is typed is drawn at once."""
THINK = 0.7
"""Seconds before a single key answers a question: what was being typed when it came is no answer."""
WHEEL = 3
"""Lines of one notch."""
ESCAPE = 0.02
"""Seconds after Esc in which another key makes it Alt; twice this is what stopping by Esc takes."""
TYPED_LINES = 8


class Screen:
    """One person's window.  ``submit`` takes what is to be done elsewhere; `dispatch` tells what came of it."""

    def __init__(
        self, state: State, words: Words, painter: Painter, history: History, *, output: Output,
        environment: Mapping[str, str],
    ) -> None:  # fmt: skip
        self.state = state
        self.submit: Submit = lambda _effect: None
        self._words = words
        self._painter = painter
        self._asked: tuple[str, float] = ("", 0.0)
        self._drawn = 0.0
        self._due = False
        self._aside = ""
        self._styles = {name: Style.from_dict(rules(name, environment)) for name in ("dark", "light", "auto")}
        completer = Commands(lambda: self.state, words, lambda kind: self.dispatch(Pressed("complete", kind)))
        commanding = Condition(lambda: self.buffer.text.startswith("/"))
        self.buffer = Buffer(completer=completer, complete_while_typing=commanding, multiline=True, history=history)
        self.talk = Window(_Talk(self), wrap_lines=False, always_hide_cursor=True)
        self.application: Application[int] = Application(
            layout=Layout(self._layout(), focused_element=self.buffer),
            key_bindings=bindings(self),
            style=DynamicStyle(lambda: self._styles[self.state.theme]),
            full_screen=True, mouse_support=True, output=output,
        )  # fmt: skip
        self.application.ttimeoutlen = self.application.timeoutlen = ESCAPE

    # -- the state ---------------------------------------------------------------------------------------------------

    def dispatch(self, message: Message) -> None:
        """Change the state, have done what it wants, and draw: at once, or for what streams on the next beat."""
        secret = bool(self.state.key_for)
        self.state, effects = update(self.state, message, self._words)
        for effect in effects:
            self._carry_out(effect)
        if bool(self.state.key_for) is not secret:
            self._lay_aside(secret=not secret)
        asked = question(self.state)
        if (asked.key if asked else "") != self._asked[0]:
            self._asked = (asked.key if asked else "", time.monotonic())
        if isinstance(message, Replied) and message.tag.name == "names" and self.buffer.text.startswith("/"):
            self.buffer.start_completion()
        if isinstance(message, Typed | Replied) and self.state.place is not None:
            layout = self._painter.layout(self.state, self.columns)  # all of it is on the screen: follow the end again
            self.state = replace(self.state, place=layout.moved(self.state.place, self._height(), 0))
        if isinstance(message, Pressed) and message.name in ("next", "previous"):
            self._show_chosen()
        self._draw(later=isinstance(message, Heard))

    def _lay_aside(self, *, secret: bool) -> None:
        """What is being typed while a key is asked for is no key: it comes back once that is over."""
        if secret:
            self._aside = self.buffer.text
            self.buffer.reset()
        elif not self.buffer.text:
            self.buffer.insert_text(self._aside)

    def _show_chosen(self) -> None:
        """Scroll until what is chosen is on the screen."""
        layout, height = self._painter.layout(self.state, self.columns), self._height()
        top, line = layout.top(self.state.place, height), layout.starts.get(self.state.chosen, -1)
        if line >= 0 and not top <= line < top + height:
            self.state = replace(self.state, place=layout.moved(Place(self.state.chosen, 0), height, -height // 3))

    def _carry_out(self, effect: Effect) -> None:
        if not isinstance(effect, Leave):
            self.submit(effect)
        elif self.application.is_running and not self.application.is_done:
            self.application.exit(result=0)

    def _draw(self, *, later: bool) -> None:
        loop = self.application.loop
        if loop is None:
            return
        left = self._drawn + BEAT - time.monotonic()
        if not later or left <= 0:
            self._drawn = time.monotonic()
            self.application.invalidate()
        elif not self._due:
            self._due = True
            loop.call_later(left, self._beat)

    def _beat(self) -> None:
        self._due = False
        self._draw(later=False)

    # -- hands -------------------------------------------------------------------------------------------------------

    def send(self, *, urgent: bool = False) -> None:
        """Send what was typed; a key is not remembered."""
        text = self.buffer.text
        if not self.state.key_for:
            self.buffer.append_to_history()
        self.buffer.reset()
        self.dispatch(Typed(text, f"waiter_{secrets.token_hex(12)}", urgent))

    def press(self, name: str) -> None:
        """A key that is not typing."""
        if name == "stop" and self.state.key_for:
            self.buffer.reset()
        self.dispatch(Pressed(name))

    def scroll(self, pages: float) -> None:
        """Up or down by a part of the screen, at least a line; 0 goes to the end."""
        height = self._height()
        lines = int(pages * (height - 1)) or (1 if pages > 0 else -1)
        self.scroll_lines(lines if pages else len(self.lines()))

    def scroll_lines(self, by: int) -> None:
        """Up or down by lines; at the top an older page is asked for."""
        layout = self._painter.layout(self.state, self.columns)
        place = layout.moved(self.state.place, self._height(), by)
        self.dispatch(Moved(place))
        if by < 0 and layout.top(place, self._height()) == 0:
            self.dispatch(Pressed("older"))

    def interrupt(self) -> None:
        """Ctrl-C: forget what is typed, else stop, else say how one leaves."""
        if self.buffer.text:
            self.buffer.reset()
        elif self.state.follow.running is not None or self.state.key_for:
            self.press("stop")
        else:
            self.dispatch(Told(self._words("quit.how")))

    def end(self) -> None:
        """Leave."""
        self.dispatch(Typed("/quit", ""))

    def answering(self) -> bool:
        """A question waits, was there long enough to be read, and nothing is typed."""
        waits = bool(self._asked[0]) and time.monotonic() - self._asked[1] > THINK
        return waits and self.empty() and not self.state.key_for

    def empty(self) -> bool:
        """Whether nothing is typed."""
        return not self.buffer.text

    # -- what is drawn -----------------------------------------------------------------------------------------------

    @property
    def columns(self) -> int:
        """Width of the terminal."""
        return self.application.output.get_size().columns

    def _height(self) -> int:
        info = self.talk.render_info
        return max(1, info.window_height if info else self.application.output.get_size().rows - 3)

    def lines(self) -> tuple[Cells, ...]:
        """Every line of the conversation."""
        return self._painter.layout(self.state, self.columns).lines

    def visible(self, cells: int, height: int) -> tuple[tuple[Cells, ...], tuple[str, ...]]:
        """The lines on the screen, and whose each is."""
        layout = self._painter.layout(self.state, cells)
        top = layout.top(self.state.place, height)
        return layout.lines[top : top + height], layout.keys[top : top + height]

    def _layout(self) -> FloatContainer:
        empty = Condition(self.empty)
        secret = Condition(lambda: bool(self.state.key_for))
        bare = Condition(lambda: self.state.line.state == "up" and not self.state.follow.running)
        typed = Window(
            BufferControl(
                self.buffer,
                input_processors=[
                    ConditionalProcessor(PasswordProcessor(), secret),
                    ConditionalProcessor(
                        AfterInput(lambda: [("class:placeholder", self._words("type"))]), empty & bare & ~secret
                    ),
                ],
            ),
            height=lambda: Dimension(min=1, max=min(TYPED_LINES, max(1, self.application.output.get_size().rows // 3))),
            dont_extend_height=True, wrap_lines=True,
            get_line_prefix=lambda line, wrap: [("class:said", "› " if line == wrap == 0 else "  ")],
        )  # fmt: skip
        above = ConditionalContainer(
            Window(FormattedTextControl(self._above), dont_extend_height=True, wrap_lines=False),
            Condition(lambda: bool(self._asking())),
        )
        rows = HSplit(
            [
                self.talk,
                Window(FormattedTextControl(self._rule), height=1),
                above,
                typed,
                Window(FormattedTextControl(self._status), height=1, style="class:status"),
            ]
        )
        menu = Float(CompletionsMenu(max_height=8, scroll_offset=1), xcursor=True, ycursor=True)
        return FloatContainer(rows, floats=[menu])

    def _asking(self) -> list[Cells]:
        return view.asking(self.state, self.columns, self._words, empty=self.empty())

    def _above(self) -> StyleAndTextTuples:
        made: StyleAndTextTuples = []
        for at, line in enumerate(self._asking()):
            made += [("", "\n")] if at else []
            made += line
        return made

    def _rule(self) -> StyleAndTextTuples:
        return list(view.rule(self.state, self.columns, self._words))

    def _status(self) -> StyleAndTextTuples:
        return list(view.status(self.state, self.columns, self._words))


class _Talk(UIControl):
    """The conversation: exactly the lines that fit."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._keys: tuple[str, ...] = ()

    def create_content(self, width: int, height: int) -> UIContent:
        """What is on the screen."""
        lines, self._keys = self._screen.visible(width, height)

        def line(at: int) -> StyleAndTextTuples:
            return list(lines[at]) if at < len(lines) else []

        return UIContent(get_line=line, line_count=max(1, len(lines)), cursor_position=Point(0, 0), show_cursor=False)

    def is_focusable(self) -> bool:
        """What is typed goes below, always."""
        return False

    def mouse_handler(self, mouse_event: MouseEvent) -> None:
        """The wheel scrolls; a click opens or folds."""
        if mouse_event.event_type == MouseEventType.SCROLL_UP:
            self._screen.scroll_lines(-WHEEL)
        elif mouse_event.event_type == MouseEventType.SCROLL_DOWN:
            self._screen.scroll_lines(WHEEL)
        elif mouse_event.event_type == MouseEventType.MOUSE_UP:
            row = mouse_event.position.y
            if row < len(self._keys) and self._keys[row]:
                self._screen.dispatch(Pressed("open", self._keys[row]))
