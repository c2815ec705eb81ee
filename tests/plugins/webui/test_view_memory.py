"""What a page of a conversation is told of memory, and how far the daemon's own work is."""

from __future__ import annotations

from plugins.webui.pieces import END, Op

from .standin import Said
from .test_view import EMPTY, notice, view


def test_that_memory_changed_names_no_ids_to_a_page_of_another_conversation() -> None:
    told = Said(1, "memory", "elsewhere", "tx", {"what": "written", "facts": ["fact_1"], "job": "pass"})
    assert view().feed(told) == [Op("memory", {"what": "written", "job": "pass"})]


def test_work_of_the_daemon_itself_is_told_as_how_far_it_is() -> None:
    told = Said(1, "progress", "", "", {"what": "vectors", "done": 3, "total": 9})
    assert view().feed(told) == [Op("working", {"what": "vectors", "kind": "", "done": 3, "total": 9})]
    look = {"what": "doctor", "phase": "looking", "kind": "hashes", "done": 3, "total": 9}
    told = Said(1, "memory", "", "", look)
    assert view().feed(told) == [Op("working", {"what": "doctor", "kind": "hashes", "done": 3, "total": 9})], (
        "no figure changes by it"
    )


def test_what_was_written_of_a_turn_stands_below_its_end() -> None:
    written = notice("memory", what="written", state="done", made=1, records={"fact": ["fact_0000000000000001"]})
    one = view()
    (item, figures) = one.feed(written)
    assert (item.name, item.data["key"], item.data["turn"]) == ("item", "written", "turn1")
    assert figures == Op("memory", {"what": "written", "job": ""})
    assert str(item.data["order"]) > END


def test_a_history_has_what_was_written_of_its_turns() -> None:
    said = {"id": "e1", "seq": 1, "turn": "turn1", "kind": "user", "text": "hi", "peer": "p", "data": {}}
    made = {"turn": "turn1", "state": "done", "records": {"fact": ["fact_1"]}}
    (section,) = view().sections({**EMPTY, "events": [said], "written": [made, {**made, "turn": "elsewhere"}]})
    assert [item.key for item in section.ordered()] == ["said", "written"]
