"""The sandbox: what a script has, what it has not, and that nothing it does gets past its limits."""

from __future__ import annotations

import pytest

from homed.providers.lua.state import Limits
from tests.homed.providers.lua.local import Failed, InProcess, complete

SMALL = Limits(memory=8 << 20, instructions=2_000_000)


def script(functions: str, limits: Limits | None = None) -> InProcess:
    return InProcess(complete(functions), limits=limits)


def answer(body: str, limits: Limits | None = None) -> object:
    """What ``models`` with this body returns."""
    return script(f"function models(body)\n{body}\nend", limits).run("models", "")


@pytest.mark.parametrize(
    "name",
    [
        "io", "require", "load", "loadstring", "loadfile", "dofile", "debug", "python", "package", "coroutine",
        "collectgarbage", "warn", "string.dump", "os.execute", "os.exit", "os.getenv", "os.remove", "os.tmpname",
        "os.rename", "os.setlocale",
    ],
)  # fmt: skip
def test_a_script_has_no_way_out(name: str) -> None:
    assert answer(f"return {{ tostring({name}) }}") == ["nil"]


def test_the_methods_of_a_text_lead_nowhere() -> None:
    assert answer('return { tostring(("").dump), tostring(getmetatable("")) }') == ["nil", "false"]


def test_nothing_of_the_host_is_within_reach() -> None:
    found = answer(
        """
        local names, seen = {}, {}
        local function walk(value, path)
          if type(value) == "userdata" or type(value) == "thread" then names[#names + 1] = path end
          if type(value) ~= "table" or seen[value] then return end
          seen[value] = true
          for key, inner in next, value do walk(inner, path .. "." .. tostring(key)) end
          walk(getmetatable(value), path .. "()")
        end
        walk(_G, "_G")
        return names"""
    )
    assert found == []


def test_what_a_script_makes_of_its_globals_is_its_own_affair() -> None:
    mine = script(
        "json.encode = function() return 'x' end\ntable.concat = nil\nstring.gsub = nil\nnext = nil\n"
        "function models(body) return { body } end\njson = nil"
    )
    assert mine.run("models", 'a\n"b') == ['a\n"b']


def test_a_finalizer_is_refused() -> None:
    with pytest.raises(Failed, match=r"mine\.lua:6: __gc is not for adapters"):
        answer("setmetatable({}, { __gc = function() end })")


@pytest.mark.parametrize(
    "body",
    [
        "while true do end",
        "while true do pcall(function() while true do end end) end",
        "local function f() return pcall(f) end\nwhile true do f() end",
        "local t = setmetatable({}, { __index = function(t, k) return t[k .. 'x'] end })\nreturn t.a",
        "for i = 1, 1e12 do local s = i .. '' end",
        "string.gsub(('x'):rep(1000), '.', function() while true do end end)",
        "table.sort({3, 1, 2}, function() while true do end end)",
    ],
)
def test_a_script_that_does_not_end_is_ended_with_its_line(body: str) -> None:
    with pytest.raises(Failed, match=r"^mine\.lua:\d+: ") as failed:
        answer(body, SMALL)
    assert "instructions" in str(failed.value) or "stack overflow" in str(failed.value)


@pytest.mark.parametrize(
    "body",
    [
        "local t = {}\nfor i = 1, 1e9 do t[i] = ('x'):rep(1000) .. i end",
        "return { ('x'):rep(1 << 30) }",
        "local s = 'x'\nwhile true do s = s .. s end",
        "while true do pcall(string.rep, 'x', 1 << 24) end",
    ],
)
def test_memory_has_an_end(body: str) -> None:
    with pytest.raises(Failed, match=r"^mine\.lua:\d+: .*(not enough memory|instructions|too large)"):
        answer(body, SMALL)


def test_what_was_read_before_an_error_is_kept() -> None:
    mine = InProcess(
        complete()
        + """
        function transform_stream_chunk(chunk)
          if chunk == "bad" then error("oh") end
          return { type = "content", text = chunk }
        end"""
    )
    with pytest.raises(Failed, match=r"mine\.lua:7: oh") as failed:
        mine.chunks("a", "b", "bad", "c")
    assert [part["text"] for part in failed.value.parts] == ["a", "b"]


def test_an_error_may_say_its_kind() -> None:
    with pytest.raises(Failed) as failed:
        answer('error({ kind = "refused", message = "not this" })')
    assert (failed.value.kind, str(failed.value)) == ("refused", "not this")


def test_an_error_that_is_no_text_is_told_all_the_same() -> None:
    with pytest.raises(Failed, match=r"mine\.lua:6: an error that is a nil, not a text"):
        answer("error(nil)")


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("x = = 1", "mine.lua:1: unexpected symbol near '='"),
        ("\nlocal t = nil\nt.x = 1", "mine.lua:3: attempt to index a nil value"),
        ("x = 1", "mine.lua: there is no function transform_request"),
        ("\x1bLua", "mine.lua:"),
        ("while true do end", "mine.lua:1: it ran more than"),
    ],
)
def test_a_script_that_cannot_be_loaded_says_where(source: str, why: str) -> None:
    with pytest.raises(Failed) as failed:
        InProcess(source, limits=SMALL)
    assert why in str(failed.value)


def test_a_wrong_return_is_told() -> None:
    mine = script("function transform_response(body) return 7 end")
    with pytest.raises(Failed, match="transform_response returned a number, not a list of parts"):
        mine.run("whole", "", stream=1)


def test_the_state_of_a_stream_is_its_own_and_goes_with_it() -> None:
    mine = script(
        """
        function transform_stream_chunk(chunk, state)
          state.n = (state.n or 0) + 1
          return { type = "content", text = chunk .. state.n }
        end"""
    )
    assert [part["text"] for part in mine.chunks("a", "b", stream=1)] == ["a1", "b2"]
    assert [part["text"] for part in mine.chunks("c", stream=2)] == ["c1"]
    mine.state.drop(1)
    assert [part["text"] for part in mine.chunks("d", stream=1)] == ["d1"]


def test_log_and_print_are_told_to_homed() -> None:
    mine = script('log("warn", "a", 1)\nlog("b")\nprint("c", nil, true)\nlog("x", ("y"):rep(5000))')
    assert mine.said[:3] == [("warn", "a 1"), ("info", "b"), ("info", "c nil true")]
    assert len(mine.said[3][1]) == 2000


def test_http_cannot_be_waited_for_inside_a_sort() -> None:
    with pytest.raises(Failed, match="http_get cannot wait here"):
        answer("table.sort({ 2, 1 }, function() http_get('x') end)")


def test_http_is_asked_of_homed_and_goes_on_with_the_answer() -> None:
    mine = script("function models(body)\nlocal a = http_post(body, { a = 1 }, { H = 'v' })\nreturn { a.body } end")
    assert mine.state.start(50, "models", b"http://x") == (
        b"ask",
        b"http_post",
        b'["http://x","{\\"a\\":1}",{"H":"v"}]',
    )
    assert mine.state.resume(50, True, b'{"body":"good"}') == (b"done", b'["good"]', b"")


def test_http_that_failed_is_an_error_in_the_script() -> None:
    mine = script("function models(body)\nlocal fine, why = pcall(http_get, body)\nreturn { why } end")
    mine.state.start(50, "models", b"http://x")
    assert b"no answer" in mine.state.resume(50, False, b"no answer")[1]
