"""The pass against the worst: answers full of what nobody sees, quotes that cut a secret, memory that is forgotten
while a model thinks, clocks that are put back, and turns as long as a book."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from homed.jobs import extract, making
from homed.jobs.job import Outage
from homed.memory import capsules, evidence, facts, stable
from homed.memory.capsules import NewCapsule
from homed.memory.evidence import Pointer, Span
from homed.memory.newfact import NewFact
from homed.store.rows import Tx
from tests.homed.jobs.passed import Passes, ended, gates
from tests.homed.jobs.past import SAID, Bench, bench
from tests.homed.jobs.test_extract import ANSWERED, ASKED, FACT, Model, answer
from tests.homed.jobs.test_passing import SMALL, Failing, with_model
from tests.kit.past import Said

TURN = Said(question=ASKED, answer=ANSWERED)


@pytest.mark.parametrize("unseen", ["\ud800", "\0", "\u200b", "\U000e0041", "\u202e", "\x1b"])
async def test_what_nobody_sees_is_in_no_record_and_costs_no_pass(tmp_path: Path, unseen: str) -> None:
    said = {
        "l1": {"request": f"Find{unseen} a dentist", "outcome": f"Found{unseen}.", "tags": [f"he{unseen}alth", unseen]},
        "l2": [{**FACT, "text": f"The user lives in {unseen}Bern.", "relation": f"lives_in{unseen}",
                "object": f"Bern{unseen}", "tags": [f"to{unseen}wn"]}],
        "l3": [{"title": f"Dent{unseen}ist", "kind": "thread", "text": f"find a den{unseen}tist near the old town"}],
    }  # fmt: skip
    async with bench(tmp_path) as on:
        await ended(on, TURN)
        passed = with_model(on, Model(json.dumps(said)))
        counts = await passed.run()
        assert (counts.errors, await gates(on), await on.rows("SELECT 1 FROM passes")) == (0, {}, [])
        assert await on.rows("SELECT record, title, text, tags, relation, object FROM records ORDER BY seq") == [
            ("fact", "", "The user lives in Bern.", '["town"]', "home", "Bern"),
            ("summary", "Find a dentist", "Find a dentist\n-\nFound.", '["health"]', "", ""),
            ("capsule", "Dentist", "find a dentist near the old town", "[]", "", ""),
        ]


async def test_what_was_forgotten_stays_so_whatever_is_put_between_its_letters(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        (event, *_) = await ended(on, TURN)

        def write(tx: Tx) -> list[str]:
            made: list[str] = []
            for text in ("My dog is Rex", "My d\u200bog is R\u00adex", "My dog is Rex\U000e0020"):
                made.append(facts.put(tx, NewFact("owner", text), [Pointer(event.id)], at=SAID).outcome)
            return made

        assert await on.store.write(write) == ["new", "same", "same"]


async def test_a_secret_that_a_summary_is_too_long_for_is_not_cut_in_two(tmp_path: Path) -> None:
    card, key = "4111 1111 1111 1111", "sk-ant-api03-abcdefABCDEF0123456789"
    said = {
        "l1": {"request": f"{'Pay it. ' * 23}{card} and more", "outcome": f"{'Done. ' * 30}{key} and more"},
        "l3": [{"title": "Dentist", "kind": "thread", "text": f"{'Find a dentist. ' * 49}{key} and so on"}],
    }
    async with bench(tmp_path) as on:
        await ended(on, TURN)
        await with_model(on, Model(json.dumps(said))).run()
        ((text,),) = await on.rows("SELECT text FROM records")
        assert "4111" not in text
        assert "sk-ant" not in text
        assert (await gates(on))["secret"] == 1, "the capsule"


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("I pay with 4111 1111 1111 1111 here", "with 4111 1111 1111"),
        ("I pay with 4111 1111 1111 1111 here", "1111 1111 1111 here"),
        ("My password for the bank is Qwerty1234 ok", "Qwerty1234 ok"),
        ("мой пароль Qwerty1234 вот", "Qwerty1234"),
        ("我的密码就是Qwerty1234", "Qwerty1234"),
        ("the key is sk-ant-api03-abcd\nefABCDEF0123456789", "efABCDEF0123456789"),
    ],
)
async def test_a_quote_that_cuts_a_secret_copies_no_part_of_it(tmp_path: Path, text: str, quote: str) -> None:
    async with bench(tmp_path) as on:
        (event, *_) = await ended(on, Said(question=text))
        span = Span(event.id, *(evidence.locate(text, quote) or (0, 0)))
        await on.store.write(lambda tx: facts.put(tx, NewFact("owner", "The user pays by card"), [span], at=SAID))
        assert await on.rows("SELECT first, excerpt FROM evidence") == [(None, "")]


# -- while the model thinks ----------------------------------------------------------------------------------------


class Meanwhile(Model):
    """Something happens between a question and its answer, once."""

    def __init__(self, on: Bench, *answers: Any) -> None:
        super().__init__(*answers)
        self.on = on
        self.happens: Any = None

    async def ask(self, plugin: str, question: Any) -> Any:
        happens, self.happens = self.happens, None
        if happens is not None:
            await self.on.store.write(happens)
        return await super().ask(plugin, question)


@pytest.mark.parametrize("how", ["hidden", "gone", "changed"])
async def test_what_was_forgotten_or_changed_while_a_model_thinks_does_not_come_back(tmp_path: Path, how: str) -> None:
    old = "They grow orchids in a hidden greenhouse."
    async with bench(tmp_path) as on:
        (event, *_) = await ended(on, TURN)
        new = NewCapsule("owner", "thread", "Dentist", old)
        put = await on.store.write(lambda tx: capsules.put_capsule(tx, new, [Pointer(event.id)], at=SAID))
        later = {"title": "Dentist", "kind": "thread", "text": f"{old} Find a dentist near the old town."}
        model = Meanwhile(on, answer(l3=[{**later, "id": put.record}]), answer(l3=[]))
        model.happens = {
            "hidden": lambda tx: stable.update(tx, put.record, {"status": "hidden"}, at=SAID),
            "gone": lambda tx: stable.remove(tx, [put.record]),
            "changed": lambda tx: stable.update(tx, put.record, {"text": "They grow herbs."}, at=SAID),
        }[how]
        passed = with_model(on, model)
        assert (await passed.run()).drops == {"changed": 1}
        assert passed.next is not None, "it is read again soon, as things are now"
        await passed.run()
        texts = await on.column("SELECT text FROM records WHERE status <> 'hidden' ORDER BY seq")
        assert not [text for text in texts if "orchids" in text]
        assert "The user lives in Bern." in texts
        assert old not in model.asked[1].said[1][1]


# -- clocks --------------------------------------------------------------------------------------------------------

YEAR = 365 * 86_400.0


async def test_a_clock_that_is_put_back_leaves_no_model_resting_for_a_year(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        await ended(on, TURN)
        reader = Failing(on, Model(answer()), Outage("gone", "connect"), None)
        passed = Passes(on, reader)
        await passed.run()
        on.now -= YEAR
        await passed.run()
        assert len(reader.scripts) == 2
        assert await on.rows("SELECT 1 FROM passes") == []


async def test_small_talk_of_the_future_is_not_waited_for(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        await ended(on, *SMALL)
        on.now = SAID - YEAR
        model = Model(json.dumps({"l2": []}))
        await with_model(on, model).run()
        assert (len(model.asked), await on.rows("SELECT 1 FROM passes")) == (1, [])


# -- turns as long as a book ---------------------------------------------------------------------------------------


async def test_what_is_as_long_as_a_text_is_done_beside_the_loop_that_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, on_loop = threading.get_ident(), []

    def watched(module: Any, name: str) -> None:
        real = getattr(module, name)

        def look(*args: Any) -> Any:
            on_loop.extend([name] if threading.get_ident() == here else [])
            return real(*args)

        monkeypatch.setattr(module, name, look)

    for module, name in ((extract, "borne_out"), (extract, "told"), (making, "told"), (making, "transcript")):
        watched(module, name)
    capsule = {"title": "Dentist", "kind": "thread", "text": "find a dentist near the old town"}
    async with bench(tmp_path) as on:
        await ended(on, TURN, TURN, TURN)
        await with_model(on, Model(json.dumps({"l2": [FACT], "l3": [capsule]}), "no JSON", "no JSON")).run()
        assert len(await on.rows("SELECT 1 FROM records WHERE record = 'summary'")) == 3
        assert on_loop == []
