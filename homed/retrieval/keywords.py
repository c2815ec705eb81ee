"""Chinese parted into words, where that says more than its characters and pairs: names, keywords, topics.

Nothing in an index depends on it: a text is found by the same terms whether the dictionary is there or not.  It takes
70 MB and a second of one core, so it is loaded only once Chinese was met, in a thread; until then, and wherever it
cannot be loaded, nothing is known of words, and whoever asks does without.
"""

from __future__ import annotations

import logging
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import trio

from homed.retrieval.stopwords import CHINESE_CHARACTERS, CHINESE_PAIRS

log = logging.getLogger(__name__)

LOOKED_AT = 2_000
"""Characters of a text that are parted: what it is about is said by then, and parting them takes 5 ms."""

LOADED = "Chinese is parted into words from now on"

_RUN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]{2,}")
_KANA = re.compile("[\u3040-\u30ff]")
_FOREIGN = re.compile(r"[A-Za-z][A-Za-z0-9+#.-]{2,30}(?<![.-])")


@dataclass(frozen=True, slots=True)
class Parting:
    """A dictionary.  ``cut``: a run of Chinese in its words, by the dictionary alone; ``rarity``: of a word, from 0 for
    the commonest up; both are called on any thread."""

    cut: Callable[[str], Iterable[str]]
    rarity: Callable[[str], float]


def with_jieba() -> Parting:
    """The one in use.  Blocks for about a second, but never holds up other threads for longer than a slice.

    That is why its dictionary is read line by line and not from its cache, which is one long step; and the place of
    that would be a name in a folder that everybody may write to.  No guesses are made at words that are in no
    dictionary: they part names wrongly as often as they find them.
    """
    import jieba

    jieba.setLogLevel(logging.ERROR)
    made = jieba.Tokenizer()
    made.FREQ, made.total = made.gen_pfdict(made.get_dict_file())
    made.initialized = True
    often, total = made.FREQ, float(made.total)
    return Parting(
        lambda run: (str(word) for word in made.cut(run, HMM=False)),
        lambda word: math.log(total / max(1, often.get(word, 0))),
    )


class Keywords:
    """The words of Chinese texts; ``keep`` loads what it takes.  All but ``keep`` on any thread, and never waiting."""

    def __init__(self, load: Callable[[], Parting] = with_jieba) -> None:
        self._load = load
        self._parting: Parting | None = None
        self._met = False
        self._wake: Callable[[], None] | None = None

    @property
    def loaded(self) -> bool:
        """Whether anything is known of words by now."""
        return self._parting is not None

    def meet(self, text: str) -> None:
        """Chinese texts are about: load the dictionary, if that has not been done."""
        if not self._met and _chinese(text):
            self._met = True
            if self._wake is not None:
                self._wake()

    def borders(self, text: str) -> frozenset[int] | None:
        """The places in ``text`` where a word begins or ends, as indices; None where nothing is known of it.

        Of what is behind ``LOOKED_AT`` and of other scripts every place is one.
        """
        self.meet(text)
        parting = self._parting
        if parting is None or not _chinese(text):
            return None
        inside: set[int] = set()
        for run in _RUN.finditer(text, 0, LOOKED_AT):
            at = run.start()
            for word in self._cut(parting, run.group()):
                inside.update(range(at + 1, at + len(word)))
                at += len(word)
        return frozenset(place for place in range(len(text) + 1) if place not in inside)

    def top(self, text: str, limit: int) -> list[str]:
        """What a Chinese text is about: its words that say most, best first, each once, foreign ones among them.

        Empty where nothing is known of words, and for texts that are not Chinese.
        """
        self.meet(text)
        parting = self._parting
        if parting is None or not _chinese(text):
            return []
        seen = text[:LOOKED_AT]
        count = Counter(
            word for run in _RUN.findall(seen) for word in self._cut(parting, run) if len(word) > 1 and _says(word)
        )
        weighed = {word: times * parting.rarity(word) for word, times in count.items()}
        foreign = Counter(_FOREIGN.findall(seen))
        weighed |= {word: times * parting.rarity(word) for word, times in foreign.items()}
        return sorted(weighed, key=lambda word: (-weighed[word], seen.index(word)))[:limit]

    async def keep(self) -> None:
        """Load the dictionary once Chinese was met; then return.  Where it cannot be loaded, that costs keywords only.

        Cancelled: the thread is left to itself, and what it brings is thrown away.
        """
        token, met = trio.lowlevel.current_trio_token(), trio.Event()

        def wake() -> None:
            try:
                token.run_sync_soon(met.set, idempotent=True)
            except trio.RunFinishedError:
                return  # nobody is there any more who could want it

        self._wake = wake
        if not self._met:
            await met.wait()
        try:
            self._parting = await trio.to_thread.run_sync(self._load, abandon_on_cancel=True)
        except Exception:
            log.exception("Chinese is not parted into words: names and topics in it are found less well")
        else:
            log.info(LOADED)

    def _cut(self, parting: Parting, run: str) -> Sequence[str]:
        """The words of a run; as one where the dictionary fails, which is then not asked again."""
        try:
            words = tuple(parting.cut(run))
        except Exception:
            log.exception("Chinese is not parted into words any more")
            self._parting = None
            return ()
        return words


def _chinese(text: str) -> bool:
    """Whether there are words of Chinese in it: Japanese has its signs and other words."""
    seen = text[:LOOKED_AT]
    return _RUN.search(seen) is not None and _KANA.search(seen) is None


def _says(word: str) -> bool:
    return word not in CHINESE_PAIRS and not all(one in CHINESE_CHARACTERS for one in word)
