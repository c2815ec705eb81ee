"""The Lua state: what crosses the border, the limits, and everything a hostile plugin would try."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from functools import partial
from typing import Any

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from lupa.lua54 import LuaRuntime

from homed.errors import NotFound
from plugins.lua.services import none
from plugins.lua.state import Limits, LuaFailed, State

SMALL = Limits(memory=16 << 20, instructions=5_000_000, seconds=5.0, grace=5.0)


def no_modules(name: str) -> tuple[str, bytes]:
    raise LookupError(f"no module {name}")


def fail(seconds: float) -> None:
    raise AssertionError(f"not stopped within {seconds} s")


def state(limits: Limits = SMALL, modules: Mapping[str, str] | None = None) -> State:
    def read(name: str) -> tuple[str, bytes]:
        if name not in (modules or {}):
            raise LookupError(f"no module {name}")
        return f"{name}.lua", (modules or {})[name].encode()

    return State(read, limits, give_up=fail)


def tool(body: str) -> str:
    """A plugin whose one tool ``t`` has this body."""
    return (
        "local sdk\nfunction start(s) sdk = s "
        'sdk.register_tool{name="t", description="d", handler=function(args, ctx)\n' + body + "\nend} end"
    )


async def run(body: str, args: object = None, limits: Limits | None = None) -> Any:
    lua = state(limits or Limits(instructions=5_000_000, seconds=5.0))
    await lua.run("main", tool(body), serve=none)
    return await lua.run("tool", "t", json.dumps(args or {}), "{}", serve=none)


async def test_what_a_handler_returns_is_what_it_was_given() -> None:
    value = {"n": 1, "x": 1.5, "t": '你好 \U0001f600\n"\\', "l": [1, [], {}], "b": [True, False], "o": {"a": {"b": []}}}
    assert await run("return args", value) == value


JSON = st.recursive(
    st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@settings(deadline=None, max_examples=10)
@given(st.lists(st.dictionaries(st.text(max_size=5), JSON, max_size=4), min_size=1, max_size=5))
def test_json_goes_there_and_back(values: list[dict[str, Any]]) -> None:
    async def there() -> list[Any]:
        lua = state()
        await lua.run("main", tool("return args"), serve=none)
        return [await lua.run("tool", "t", json.dumps(value), "{}", serve=none) for value in values]

    assert trio.run(there) == json.loads(json.dumps(values))


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return ('x'):rep(9 << 20)", "is over 8388608 bytes"),
        ("return sdk.call('x', {a = ('x'):rep(9 << 20)})", "is over 8388608 bytes"),
        ("return function() end", "cannot hold a function"),
        ("return 0/0", "is no number"),
        ("local t = {} t.t = t return t", "or it holds itself"),
        ("return {[{}]=1}", "cannot be a key"),
        ("return sdk.json.decode('[1,')", "no value at byte 4"),
        ("return sdk.json.decode(('['):rep(1000))", "more than 64 levels"),
        ("return sdk.json.decode('{\"a\" 1}')", "no : at byte 6"),
        ("return sdk.json.decode('\"\\\\q\"')", "a wrong escape"),
        ("return nil, 'there is nobody'", "there is nobody"),
        ("error('wrong')", "main.lua:3: wrong"),
        ("error({message='in a table'})", "in a table"),
        ("error(setmetatable({}, {__tostring=function() return 'x' end}))", "an error that is a table"),
        ("local x = nil; return x.y", "main.lua:3: attempt to index a nil value"),
        ("coroutine.yield(1)", "coroutine.yield outside of a coroutine"),
        ("sdk.register_tool{name='u', handler=print}", "is for start(sdk)"),
    ],
)
async def test_what_goes_wrong_says_so(body: str, said: str) -> None:
    with pytest.raises(LuaFailed) as failed:
        await run(body)
    assert said in str(failed.value)


async def test_arrays_and_nulls_have_words_for_them() -> None:
    body = (
        "return {e = sdk.json.array(), n = sdk.json.null, l = sdk.json.array({1, 2}), i = args.l[2] == sdk.json.null}"
    )
    assert await run(body, {"l": [1, None]}) == {"e": [], "n": None, "l": [1, 2], "i": True}


# The sandbox


@pytest.mark.parametrize(
    "name",
    [
        "python", "io", "package", "debug", "dofile", "loadfile", "warn", "os.execute", "os.exit", "os.getenv",
        "os.remove", "os.rename", "os.tmpname", "os.setlocale", "string.dump", "coroutine.close", "coroutine.running",
        "package and package.loadlib", "_G.python", "getmetatable('')", "_G.debug", "_ENV.io",
    ],
)  # fmt: skip
async def test_what_leads_outside_is_not_there(name: str) -> None:
    assert await run(f"return not ({name})") is True


ATTEMPTS = {
    "bytecode by load": ("return load('\\27Lua', 'x', 'b', {}) == nil", True),
    "bytecode by a reader": ("return (load(function() return nil end))() == nil", True),
    "bytecode through the mode": ("local f, why = load('\\27LuaT', 'x', 'bt') return f == nil", True),
    "a C library": ("return pcall(require, 'socket.core')", None),
    "out by ..": ("return (pcall(require, '../x'))", False),
    "out by an absolute path": ("return (pcall(require, '/etc/passwd'))", False),
    "a module's name with NUL": ("return (pcall(require, 'a\\0b'))", False),
    "the strings' metatable": ("return (pcall(setmetatable, 'x', {}))", False),
    "the strings' metatable again": ("return getmetatable('x') == false", True),
    "a finalizer": ("return (pcall(setmetatable, {}, {__gc = function() end}))", False),
    "a finalizer made later": ("local m = {} setmetatable({}, m) m.__gc = print collectgarbage() return true", True),
    "the collector off": ("return (pcall(collectgarbage, 'stop'))", False),
    "the sdk's functions": ("sdk.json.encode = nil sdk.call = nil string.find = nil return {1}", [1]),
    "null's metatable": ("return (pcall(function() sdk.json.null.x = 1 end))", False),
    "globals of load": ("return load('return io == nil and python == nil')()", True),
    "an environment of its own": ("return load('return print == nil', 'x', 't', {})()", True),
    "the host's mark": ("local c = coroutine.wrap(function() return 1 end) return c()", 1),
}


@pytest.mark.parametrize("name", ATTEMPTS)
async def test_an_attempt_leads_nowhere(name: str) -> None:
    body, wanted = ATTEMPTS[name]
    if wanted is None:
        body, wanted = body.replace("return pcall", "return not pcall"), True
    assert await run(body) == wanted


async def test_bytecode_is_not_loaded_by_any_way() -> None:
    code = LuaRuntime(encoding=None).execute(b"return string.dump(function() return 42 end)")
    written = '"' + "".join(f"\\{byte:03d}" for byte in code) + '"'
    ways = ["{}", "{}, 'x'", "{}, 'x', 'b'", "{}, 'x', 'bt', {{}}", "function() local c = c0 c0 = nil return c end"]
    for way in ways:
        call = way.format(written)
        with pytest.raises(LuaFailed, match="binary chunk"):
            await run(f"c0 = {written} local f, why = load({call}) error(why or f())")
    with pytest.raises(LuaFailed, match="binary chunk"):
        await state().run("main", code, serve=none)


async def test_no_value_of_the_host_is_in_reach() -> None:
    """Everything that can be walked to from the globals and the sdk is Lua's own: no userdata."""
    body = """
    local seen, found = {}, {}
    local function walk(v, path)
      if type(v) == "userdata" then found[#found + 1] = path end
      if type(v) ~= "table" or seen[v] then return end
      seen[v] = true
      for k, x in next, v do walk(k, path) walk(x, path .. "." .. tostring(k)) end
      local m = getmetatable(v)
      if type(m) == "table" then walk(m, path .. "!meta") end
    end
    walk(_G, "_G") walk(sdk, "sdk") walk(ctx, "ctx") walk(args, "args")
    return sdk.json.array(found)
    """
    assert await run(body) == []


# Limits

ENDLESS = {
    "a loop": "while true do end",
    "a loop in pcall": "while true do pcall(function() while true do end end) end",
    "pcall of pcall": "local function f() return pcall(f) end while true do f() end",
    "recursion that catches": "local function f() pcall(f) return f() end f()",
    "xpcall's handler": "xpcall(function() while true do end end, function() while true do end end)",
    "a coroutine": "coroutine.wrap(function() while true do end end)()",
    "coroutines that catch": (
        "while true do coroutine.wrap(function() pcall(function() while true do end end) end)() end"
    ),
    "errors of coroutines": "local function f() coroutine.resume(coroutine.create(f)) return f() end f()",
    "a tree of coroutines": (
        "local function f(n) for _ = 1, n > 0 and 2 or 0 do coroutine.resume(coroutine.create(f), n - 1) end end f(90)"
    ),
    "a loop as deep as can be": ("local function f() pcall(f) while true do end end while true do pcall(f) end"),
    "coroutines without end": "while true do coroutine.resume(coroutine.create(function() end)) end",
    "a closing variable": (
        "local x <close> = setmetatable({}, {__close = function() while true do end end}) while true do end"
    ),
    "one in a coroutine": (
        "coroutine.wrap(function() local x <close> = setmetatable({}, {__close = function() while true do end end})"
        " while true do end end)()"
    ),
    "a metamethod": (
        "local t = setmetatable({}, {__index = function(t, k) return t[k + 1] end})"
        " while true do pcall(function() return t[1] end) end"
    ),
    "a comparison": "table.sort({3, 2, 1}, function() while true do end end)",
    "a gsub's function": "string.gsub('aaa', 'a', function() while true do end end)",
    "an iterator": "for _ in function() return 1 end do end",
    "goto": "::a:: goto a",
    "load in a loop": "while true do load('return 1')() end",
    "a __tostring": "print(setmetatable({}, {__tostring = function() while true do end end}))",
    "rep of nothing": "while true do local x = (''):rep(1 << 62) end",
    "the collector": "while true do collectgarbage() end",
    "a reader": "load(function() return ' ' end)",
}


@pytest.mark.parametrize("name", ENDLESS)
async def test_what_never_ends_is_stopped(name: str) -> None:
    lua = state()
    await lua.run("main", tool(ENDLESS[name]) + "\nfunction stop() end", serve=none)
    begun = time.monotonic()
    with pytest.raises(LuaFailed):
        await lua.run("tool", "t", "{}", "{}", serve=none)
    assert time.monotonic() - begun < 60
    assert await lua.run("stop", serve=none) is None, "the state goes on"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("table.insert(setmetatable({}, {__len = function() return 1 << 53 end}), 1, 'x')", "__len"),
        ("table.remove(setmetatable({}, {__len = function() return 1 << 53 end}), 1)", "__len"),
        ("table.concat(setmetatable({}, {__len = function() return 1 << 53 end}))", "__len"),
        ("table.sort(setmetatable({}, {__len = function() return 1 << 30 end}), rawequal)", "__len"),
        ("table.unpack(setmetatable({}, {__len = function() return 1 << 53 end}))", "__len"),
        ("table.move({}, 1, 1 << 53, 2)", "too many elements"),
        ("table.unpack({}, 1, 1e8)", "too many results"),
        ("return string.rep('x', 1 << 40)", "resulting string too large|not enough memory"),
        ("return string.rep('x', 1e9)", "not enough memory"),
        ("local t = {} for i = 1, 1e9 do t[i] = {} end", "not enough memory"),
        ("local s = 'x' while true do s = s .. s end", "not enough memory"),
        ("table.concat(setmetatable({}, {__index = tostring}), '', 1, 1 << 53)", "not enough memory"),
        ("local function f() return 1 + f() end return f()", "stack overflow|not enough memory"),
        ("return string.format('%1000d', 1)", "invalid conversion"),
        ("return ('x'):rep(100, ('y'):rep(1e7))", "not enough memory"),
        ("return string.find('x', ('('):rep(100))", "too many captures|unfinished capture|malformed"),
        ("return load(('('):rep(1e5))()", "attempt to call a nil value"),
    ],
)
async def test_what_is_too_much_is_refused(body: str, said: str) -> None:
    lua = state()
    await lua.run("main", tool(body) + "\nfunction stop() end", serve=none)
    with pytest.raises(LuaFailed, match=said):
        await lua.run("tool", "t", "{}", "{}", serve=none)
    assert await lua.run("stop", serve=none) is None


async def test_a_full_state_answers_and_the_process_lives() -> None:
    """Pushing an argument into a full state would abort the process; there is a reserve for it."""
    lua = state()
    fill = (
        "T = {} local s = 'x' for i = 1, 1e9 do"
        " if not pcall(function() T[i] = s:rep(100 + i) end) then break end end error('full')"
    )
    await lua.run("main", tool(fill) + "\nfunction stop() T = nil end", serve=none)
    with pytest.raises(LuaFailed):
        await lua.run("tool", "t", "{}", "{}", serve=none)
    for _ in range(5):
        with pytest.raises(LuaFailed, match=r"not enough memory|more instructions"):
            await lua.run("tool", "t", json.dumps({"x": "y" * 1_000_000}), "{}", serve=none)


async def test_a_pattern_that_cannot_be_stopped_gives_up_the_process() -> None:
    given_up: list[float] = []
    limits = Limits(memory=16 << 20, instructions=1_000_000, seconds=0.02, grace=0.02)
    lua = State(no_modules, limits, give_up=given_up.append)
    # quadratic on purpose, and short enough that the thread of this test ends
    await lua.run("main", tool("return #string.gsub(('a'):rep(6000), '.-b', '')"), serve=none)
    assert await lua.run("tool", "t", "{}", "{}", serve=none) == 6000
    assert given_up == [0.04]


async def test_pings_are_answered_while_lua_computes() -> None:
    lua = state(Limits(instructions=50_000_000, seconds=30))
    await lua.run("main", tool("while true do end"), serve=none)
    worst, ended, first = 0.0, False, time.monotonic()

    async def compute() -> None:
        nonlocal ended
        with pytest.raises(LuaFailed, match="more instructions"):
            await lua.run("tool", "t", "{}", "{}", serve=none)
        ended = True

    async with trio.open_nursery() as nursery:
        nursery.start_soon(compute)
        while not ended:
            begun = time.monotonic()
            await trio.sleep(0.005)
            worst = max(worst, time.monotonic() - begun)
    assert worst < max(1.0, (time.monotonic() - first) / 2)  # on a slow machine all takes longer, the waits too


async def test_time_is_limited_where_instructions_are_slow() -> None:
    lua = State(no_modules, Limits(instructions=10**12, seconds=0.2))
    await lua.run("main", tool("while true do end"), serve=none)
    with pytest.raises(LuaFailed, match=r"computed for more than 0\.2 s"):
        await lua.run("tool", "t", "{}", "{}", serve=none)


async def test_a_cancelled_call_stops_lua() -> None:
    lua = State(no_modules, Limits(instructions=10**12, seconds=60))
    await lua.run("main", tool("n = 0 while true do n = n + 1 end") + "\nfunction stop() assert(n > 0) end", serve=none)
    begun = time.monotonic()
    with trio.move_on_after(0.5) as scope:  # long enough for it to have begun
        await lua.run("tool", "t", "{}", "{}", serve=none)
    assert scope.cancelled_caught
    assert time.monotonic() - begun < 50  # its own limit would end it after 60 s
    assert await lua.run("stop", serve=none) is None


# Waiting


async def test_while_one_call_waits_others_run() -> None:
    lua = state()
    gate = trio.Event()

    async def serve(name: str, arguments: list[Any]) -> object:
        if arguments == [1]:
            await gate.wait()
        return {"asked": [name, arguments]}

    await lua.run("main", tool("return sdk.call(args.m, args.p)"), serve=none)
    got: list[Any] = []

    async def slow() -> None:
        got.append(await lua.run("tool", "t", '{"m": 1}', "{}", serve=lambda n, a: serve(n, a[:1])))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(slow)
        answer = await lua.run("tool", "t", '{"m": "x", "p": {"a": 1}}', "{}", serve=serve)
        assert answer == {"asked": ["call", ["x", {"a": 1}]]}
        assert not got
        gate.set()
    assert got == [{"asked": ["call", [1]]}]


async def test_a_wait_passes_through_coroutines_of_the_plugin() -> None:
    body = """
    local co = coroutine.wrap(function()
      local inner = coroutine.wrap(function() coroutine.yield(sdk.call("a")) return sdk.call("b") end)
      coroutine.yield(inner()) coroutine.yield(inner())
    end)
    return {co(), co()}
    """

    async def serve(_name: str, arguments: list[Any]) -> object:
        await trio.lowlevel.checkpoint()
        return arguments[0]

    lua = state()
    await lua.run("main", tool(body), serve=none)
    assert await lua.run("tool", "t", "{}", "{}", serve=serve) == ["a", "b"]


async def test_an_error_of_the_host_is_an_error_in_lua() -> None:
    async def serve(_name: str, _arguments: list[Any]) -> object:
        await trio.lowlevel.checkpoint()
        raise NotFound("There is no such thing.")

    lua = state()
    await lua.run("main", tool("local ok, why = pcall(sdk.call, 'x') return {ok, why}"), serve=none)
    ok, why = await lua.run("tool", "t", "{}", "{}", serve=serve)
    assert ok is False
    assert why.endswith("There is no such thing.")


async def test_waiting_where_lua_cannot_wait_says_so() -> None:
    with pytest.raises(LuaFailed, match="cannot wait here"):
        await run("table.sort({2, 1}, function() sdk.call('x') end)")


async def test_a_call_cancelled_while_it_waits_is_forgotten() -> None:
    lua = state()

    async def serve(_name: str, _arguments: list[Any]) -> object:
        await trio.sleep_forever()

    await lua.run("main", tool("return sdk.call('x')"), serve=none)
    for _ in range(3):
        with trio.move_on_after(0.02):
            await lua.run("tool", "t", "{}", "{}", serve=serve)
    with pytest.raises(LuaFailed, match="not there"):
        await lua.run("tool", "t", "{}", "{}", serve=none)


async def test_another_calls_coroutine_cannot_be_taken_over() -> None:
    """A plugin that resumes a waiting call by hand breaks that call, and nothing else."""
    body = """
    if args.first then return sdk.call("first") end
    return "second"
    """

    async def serve(_name: str, _arguments: list[Any]) -> object:
        assert await lua.run("tool", "t", "{}", "{}", serve=serve) == "second"
        return "answer"

    lua = state()
    await lua.run("main", tool(body), serve=none)
    assert await lua.run("tool", "t", '{"first": true}', "{}", serve=serve) == "answer"


# Modules, settings, registrations


async def test_require_runs_a_module_once() -> None:
    modules = {"a": "N = (N or 0) + 1 return {n = N}", "loop": "return require('loop')", "bad": "return 1 +"}
    lua = state(modules=modules)
    await lua.run(
        "main", tool("return {require('a').n, require('a').n, rawequal(require('a'), require('a'))}"), serve=none
    )
    assert await lua.run("tool", "t", "{}", "{}", serve=none) == [1, 1, True]
    for name, said in {"loop": "need each other", "bad": r"bad\.lua:1:", "gone": "no module gone"}.items():
        with pytest.raises(LuaFailed, match=said):
            await state(modules=modules).run("main", f"require('{name}')", serve=none)


async def test_settings_and_meta_are_told() -> None:
    lua = state()
    await lua.tell("meta", {"name": "x"})
    await lua.tell("settings", {"a": 1, "b": [1]})
    await lua.run("main", tool("return {sdk.meta.name, sdk.settings.a or 0, sdk.settings.b}"), serve=none)
    await lua.tell("settings", {"b": ["z"]})
    assert await lua.run("tool", "t", "{}", "{}", serve=none) == ["x", 0, ["z"]]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("function start(sdk", r"main\.lua:1:"),
        ("\n\nerror('no')", r"main\.lua:3: no"),
        ("function start(sdk) sdk.register_tool{name='a'} end", "with a handler"),
        ("function start(sdk) sdk.register_tool{name='a', handler=print, colour=1} end", "does not know colour"),
        ("function start(sdk) for i = 1, 2 do sdk.register_tool{name='a', handler=print} end end", "not taken"),
        ("function start(sdk) sdk.register_stage{handler=print} end", "needs a stage"),
        ("function start(sdk) sdk.on('x') end", "and a function"),
        ("function start(sdk) sdk.register_tool(1) end", "takes a table"),
        ("\x1bLua", "attempt to load a binary chunk"),
    ],
)
async def test_a_wrong_main_says_where(source: str, said: str) -> None:
    with pytest.raises(LuaFailed, match=said):
        await state().run("main", source, serve=none)


async def test_events_reach_all_their_handlers_though_one_fails() -> None:
    source = """
    function start(sdk)
      heard = {}
      sdk.on("a", function() error("first") end)
      sdk.on("a", function(n) heard[#heard + 1] = n.x end)
      sdk.register_tool{name="t", description="d", handler=function() return heard end}
      sdk.register_stage{stage="on_input", handler=function(f) return {raw_message = f.raw_message:upper()} end}
    end
    """
    lua = state()
    found = await lua.run("main", source, serve=none)
    assert found["events"] == ["a"]
    assert found["stages"] == [{"stage": "on_input"}]
    with pytest.raises(LuaFailed, match="first"):
        await lua.run("event", "a", '{"x": 7}', serve=none)
    assert await lua.run("tool", "t", "{}", "{}", serve=none) == [7]
    assert await lua.run("stage", "on_input", '{"raw_message": "ab"}', "{}", serve=none) == {"raw_message": "AB"}


async def test_a_full_state_can_still_read_modules() -> None:
    """What comes back from the host has room: else it jumps out of the interpreter with its lock, which then hangs."""
    lua = state(SMALL, {"big": "return '" + "a" * 900_000 + "'"})
    body = """
      local keep, ok = {}, true
      while ok do ok = pcall(function() keep[#keep + 1] = ("x"):rep(100000) .. #keep end) end
      for i = 1, 20 do pcall(require, "big") end
      keep = nil
      return "alive"
    """
    await lua.run("main", tool(body), serve=none)
    with trio.fail_after(60):
        assert await lua.run("tool", "t", "{}", "{}", serve=none) == "alive"


async def test_an_object_of_the_host_is_closed() -> None:
    def read(_name: str) -> tuple[str, bytes]:
        raise RuntimeError("what nobody thought of")

    lua = State(read, SMALL, give_up=fail)
    await lua.run("main", tool("local _, e = pcall(require, 'a') return tostring(getmetatable(e))"), serve=none)
    assert await lua.run("tool", "t", "{}", "{}", serve=none) == "false"


@pytest.mark.parametrize("code", ["while true do end", "error('no')"])
async def test_a_plugin_that_guards_its_settings_runs_nothing_in_the_hosts_place(code: str) -> None:
    lua = state(SMALL)
    guard = "setmetatable(sdk.settings, {__newindex = function() " + code + " end}) return sdk.settings.a"
    await lua.run("main", tool(guard), serve=none)
    await lua.run("tool", "t", "{}", "{}", serve=none)
    await lua.tell("settings", {"a": 7})
    assert await lua.run("tool", "t", "{}", "{}", serve=none) == 7


async def test_code_that_cannot_be_stopped_is_given_up_when_its_call_was_cancelled_too() -> None:
    given_up = trio.Event()
    lua = State(no_modules, Limits(seconds=0.3, grace=0.1), give_up=lambda _seconds: given_up.set())
    slow = "return string.find(('a'):rep(1500), ('a-'):rep(2) .. 'b')"  # some seconds in one C function
    await lua.run("main", tool(slow), serve=none)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(partial(lua.run, "tool", "t", "{}", "{}", serve=none))
        busy = time.process_time() + 0.1
        while time.process_time() < busy:  # noqa: ASYNC110  # its time of a core: it has begun
            await trio.sleep(0.01)
        nursery.cancel_scope.cancel()
    assert given_up.is_set()


async def test_more_than_a_state_has_room_for_does_not_end_the_process() -> None:
    async def serve(_name: str, _arguments: list[Any]) -> object:
        return "a" * (70 << 20)

    lua = state(SMALL)
    await lua.run("main", tool("return {pcall(sdk.call, 'x')}"), serve=none)
    said = await lua.run("tool", "t", "{}", "{}", serve=serve)
    assert said[0] is False
    assert said[1].endswith("the answer is over 8388608 bytes")
    with pytest.raises(LuaFailed, match="what it is given is over 8388608 bytes"):
        await lua.run("tool", "t", json.dumps("a" * (9 << 20)), "{}", serve=none)
    with pytest.raises(LuaFailed, match="the settings are over 8388608 bytes"):
        await lua.tell("settings", {"a": "a" * (9 << 20)})


async def test_a_state_that_was_closed_says_so() -> None:
    lua = state(SMALL)
    await lua.run("main", tool(""), serve=none)
    lua.close()
    with pytest.raises(LuaFailed, match="was replaced or is ending"):
        await lua.run("tool", "t", "{}", "{}", serve=none)
