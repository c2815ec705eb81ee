"""Questions whose answer lies in several places: what somebody has read, where they have been, how many times.

Such a question is answered by one message here and one there, and the conversation that says most about it would fill
all places with what stands beside its one answer.  Pure.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Hashable, Mapping

from homed.retrieval.words import ends

FREE = 4
"""How many of one conversation's day stand as they are: two who say two things each."""

SHARE = 0.75
"""What each one more of them counts, of what the one before it counted, when places are given out."""

_ENDS = (
    r"(?:is|was|has|does|as|his|hers|its|this|thus|yes|always|perhaps|news"
    r"|makes|happens|means|comes|goes|keeps|gives|\w*(?:ss|us|is))"
)
_NO_NOUN = r"(?:is|was|has|had|does|did|do|have|will|would|can|could|should|that|'s)"
_ASKS_SEVERAL = re.compile(
    # what books, which of the cities, what kinds of tea, what were the names: a plural not far behind
    rf"\b(?:what|which)(?:\s+(?:are|were))?(?:\s+(?!{_NO_NOUN}\b)[\w/'’+-]+){{0,3}}?\s+(?!{_ENDS}\b)[\w/+-]+s\b"
    r"|\b(?:what|which)(?:\s+(?:are|were))?(?:\s+\w+)?\s+(?:people|children|men|women|feet)\b"
    r"|\bhow many\b|\bwho (?:are|were) all\b|\b(?:list|name|tell me) (?:all|every|each)\b"
    r"|哪些|哪几|多少(?:次|个|种|位|家|本|部|场|座|条|只|件|门|首|款|遍|回|张)|几(?:次|个|种|位|家|本|部|场|座|条|只|件|门|首|款|遍|回|张)"
    r"|(?:(?<![首成京古国定迁])都|分别|一共|总共).{1,8}(?:什么|哪|谁|多少|几)|列出"
    r"|\b(?:какие|каких|какими|каким|сколько)\b|\bперечисли",
    re.IGNORECASE,
)


def wanted(query: str) -> bool:
    """Whether a query asks for several things: by its words (English, Chinese, Russian), so now and then wrong.

    Of a long one by its ends alone, as it is looked for: somewhere in a pasted text something is asked.
    """
    return any(_ASKS_SEVERAL.search(part) for part in ends(query))


def spread(scores: Mapping[int, float], homes: Mapping[int, Hashable]) -> dict[int, float]:
    """The same values given out anew, best first, so that those of one home stand less close together.

    ``homes``: where each belongs, hashable; what has none stands for itself.  Places are given out one after the
    other: whoever has most, where those of a home from ``FREE`` on count ``SHARE`` of the last.  Where all have one
    home nothing changes; no value is lost, and none is new.
    """
    lines: dict[Hashable, list[int]] = {}
    for seq in sorted(scores, key=lambda seq: (-scores[seq], -seq)):
        lines.setdefault(homes.get(seq, ("", seq)), []).append(seq)
    heap = [(-scores[line[0]], -line[0], 0, name) for name, line in lines.items()]
    # Names are compared by nobody: a seq stands in one line only.
    heapq.heapify(heap)
    order: list[int] = []
    while heap:
        _, _, at, name = heapq.heappop(heap)
        line = lines[name]
        order.append(line[at])
        if (after := at + 1) < len(line):
            seq = line[after]
            heapq.heappush(heap, (-scores[seq] * SHARE ** max(0, after + 1 - FREE), -seq, after, name))
    return dict(zip(order, sorted(scores.values(), reverse=True), strict=True))
