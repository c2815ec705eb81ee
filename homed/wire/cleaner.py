"""What a channel's cleaner may answer.  Pure: the kernel and ``check`` both ask it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def unclean(texts: Sequence[str], answer: object) -> str:
    """What is wrong with the answer to ``cleaner.invoke`` for ``texts``; empty when it can be used.

    It must hold as many texts in ``texts``, none longer than it was: a cleaner takes out, it does not add.
    """
    cleaned = answer.get("texts") if isinstance(answer, Mapping) else None
    if not isinstance(cleaned, list) or not all(isinstance(text, str) for text in cleaned):
        return "its answer is not {texts: [text]}"
    if len(cleaned) != len(texts):
        return f"it made {len(cleaned)} texts of {len(texts)}"
    if any(len(new) > len(old) for new, old in zip(cleaned, texts, strict=True)):
        return "a text is longer than it was: a cleaner only takes out"
    return ""
