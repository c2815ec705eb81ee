"""Finding a conversation again by what was said in it: for programs that send the whole of it with each message.

Such a program knows no thread.  With each message its channel gives two marks, which are keyed hashes: of all that the
person has said up to this message, and of the message alone.  The marks of the message before then say where it goes
on.  The second one is for programs that leave out the beginning of a long conversation.
"""

from __future__ import annotations

from dataclasses import dataclass

from homed.store.rows import Row, Tx, loads

ANSWER = 200
"""Characters of an answer's end, without white space, by which conversations with the same messages are told apart."""

SEEN = 20
"""How many such conversations are looked at, the newest first."""


@dataclass(frozen=True, slots=True)
class Place:
    """A message's place in a conversation: its marks, those of the message before it, the end of the answer to that,
    and what is to stand before the message where it begins a conversation here."""

    chain: str
    said: str
    chain_before: str = ""
    said_before: str = ""
    answer: str = ""
    opening: str = ""


def keep(tx: Tx, input_: str, place: Place) -> None:
    """This input stands there."""
    tx.execute(
        "INSERT INTO input_chains (input, chain, said) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        (input_, place.chain, place.said),
    )


def find(tx: Tx, channel: str, peer: str, place: Place) -> str | None:
    """The thread in which the message before was said, if this peer said it.

    Of several the newest that was answered so; else the newest in which all before it was said, too.
    """
    if not place.chain_before:
        return None
    whole = _said(tx, "chain", place.chain_before, channel, peer)
    for thread, outcome in [*whole, *_said(tx, "said", place.said_before, channel, peer)]:
        said = ending(str(loads(outcome).get("text") or "")) if outcome else ""
        if said and ending(place.answer).endswith(said):
            return str(thread)
    return str(whole[0][0]) if whole else None


def ending(text: str) -> str:
    """The end of an answer, for comparing."""
    return "".join(text[-4 * ANSWER :].split())[-ANSWER:]


def _said(tx: Tx, by: str, mark: str, channel: str, peer: str) -> list[Row]:
    return tx.all(
        "SELECT i.thread, i.outcome FROM input_chains c JOIN inputs i ON i.id = c.input"
        f" WHERE c.{by} = ? AND i.channel = ? AND i.peer = ? ORDER BY i.seq DESC LIMIT ?",
        (mark, channel, peer, SEEN),
    )
