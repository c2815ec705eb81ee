"""Finding a conversation again by what was said in it: for programs that send the whole of it with each message.

Such a program knows no thread.  With each message it gives the mark (a hash, made by its channel) of all messages up to
that one; the mark of those before it then says where it goes on.
"""

from __future__ import annotations

from homed.store.rows import Tx, loads

ANSWER = 200
"""Characters of an answer's end, without white space, by which conversations with the same messages are told apart."""

SEEN = 20
"""How many such conversations are looked at, the newest first."""


def keep(tx: Tx, input_: str, chain: str) -> None:
    """The messages of the conversation up to this input have this mark."""
    tx.execute("INSERT INTO input_chains (input, chain) VALUES (?, ?) ON CONFLICT DO NOTHING", (input_, chain))


def find(tx: Tx, channel: str, peer: str, chain: str, answer: str) -> str | None:
    """The thread in which this peer said what has this mark: the newest that was answered so, else the newest."""
    rows = tx.all(
        "SELECT i.thread, i.outcome FROM input_chains c JOIN inputs i ON i.id = c.input"
        " WHERE c.chain = ? AND i.channel = ? AND i.peer = ? ORDER BY i.seq DESC LIMIT ?",
        (chain, channel, peer, SEEN),
    )
    for thread, outcome in rows:
        said = ending(str(loads(outcome).get("text") or "")) if outcome else ""
        if said and ending(answer).endswith(said):
            return str(thread)
    return str(rows[0][0]) if rows else None


def ending(text: str) -> str:
    """The end of an answer, for comparing."""
    return "".join(text[-4 * ANSWER :].split())[-ANSWER:]
