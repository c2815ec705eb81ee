-- Runs first in every state: builds the few globals that a script has, and returns the functions that homed calls.
-- Nothing of the host is in a table that a script can reach; only strings cross the border.
--
-- Scripts run in one coroutine a call, which has a hook that counts instructions.  They cannot make coroutines of
-- their own, so there is none without it.  What no hook can stop (a pattern on a long text) is ended by the process's
-- own alarm.
local host_log, LIMIT, STEP, NAME, SEED, SEED2 = ...
math.randomseed(SEED, SEED2)

local error, getmetatable, next, pcall, rawequal, rawget, select, tostring, type =
  error, getmetatable, next, pcall, rawequal, rawget, select, tostring, type
local raw_load, raw_setmetatable, meta_of = load, setmetatable, debug.getmetatable
local sethook, traceback = debug.sethook, debug.traceback
local create, resume, yield, status, isyieldable =
  coroutine.create, coroutine.resume, coroutine.yield, coroutine.status, coroutine.isyieldable
local concat, pack, unpack = table.concat, table.pack, table.unpack
local find, match, sub = string.find, string.match, string.sub

local HOST = {} -- marks what is said to the host; no script gets hold of it
local task -- the call that runs now
local encode, decode, array -- of the library json; ours, whatever a script makes of its globals

-- Instructions ------------------------------------------------------------------------------------------------------

local function hook()
  local t = task
  t.spent = t.spent + STEP
  if t.spent > LIMIT then
    t.over = "it ran more than " .. LIMIT .. " instructions"
    sethook(t.co, hook, "", 1) -- a pcall catches this error; the very next instruction raises it again
    error(t.over, 2)
  end
end

-- Counting makes everything half as fast again, so JSON is done without: what it does is bounded by what it is given,
-- and no code of a script runs in it.
local function rehooked(t, ok, ...)
  if t and not t.over then
    sethook(t.co, hook, "", STEP)
  end
  if ok then
    return ...
  end
  error((...), 0)
end
local function unhooked(f)
  return function(...)
    local t = task
    if t and not t.over then
      sethook(t.co)
    end
    return rehooked(t, pcall(f, ...))
  end
end

-- What a script has -------------------------------------------------------------------------------------------------

local function copy(from)
  local to = {}
  for key, value in next, from do
    to[key] = value
  end
  return to
end

meta_of("").__metatable = false
meta_of(host_log).__metatable = false
string.dump = nil -- also reached by way of any text's methods

-- A finalizer runs without hooks: nothing would stop a loop in one.
local function safe_setmetatable(t, meta)
  if type(meta) == "table" and rawget(meta, "__gc") ~= nil then
    error("__gc is not for adapters", 2)
  end
  return raw_setmetatable(t, meta)
end

local function log(level, ...)
  local words = pack(...)
  if words.n == 0 then
    words, level = { level, n = 1 }, "info"
  end
  for i = 1, words.n do
    words[i] = tostring(words[i])
  end
  host_log(tostring(level), sub(concat(words, " ", 1, words.n), 1, 2000))
end

local env = {
  assert = assert, error = error, getmetatable = getmetatable, ipairs = ipairs, next = next, pairs = pairs,
  pcall = pcall, rawequal = rawequal, rawget = rawget, rawlen = rawlen, rawset = rawset, select = select,
  setmetatable = safe_setmetatable, tonumber = tonumber, tostring = tostring, type = type, _VERSION = _VERSION,
  string = copy(string), table = copy(table), math = copy(math), utf8 = copy(utf8),
  os = { time = os.time, date = os.date, clock = os.clock },
  log = log,
  print = function(...)
    log("info", ...)
  end,
}
env._G = env

local function ask(name, ...)
  if not isyieldable() then
    error(name .. " cannot wait here: a sort, a gsub or a metamethod is under way", 3)
  end
  local ok, answer = yield(HOST, name, encode(array({ ... })))
  if not ok then
    error(answer, 3)
  end
  return decode(answer)
end

function env.http_get(url, headers)
  return ask("http_get", url, headers or {})
end
function env.http_post(url, body, headers)
  if type(body) == "table" then
    body = encode(body)
  end
  return ask("http_post", url, body or "", headers or {})
end

python, io, os, package, debug, require, load, dofile, loadfile, warn, coroutine, collectgarbage =
  nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil

-- What the host calls -----------------------------------------------------------------------------------------------

local streams = {} -- what each answer keeps between its chunks
local KINDS = {}

local function own(name)
  local f = rawget(env, name)
  return type(f) == "function" and f or nil
end

local function state_of(stream)
  local state = streams[stream]
  if not state then
    state = {}
    streams[stream] = state
  end
  return state
end

local function add(parts, found, from)
  if found == nil then
    return
  end
  if type(found) ~= "table" then
    error(from .. " returned a " .. type(found) .. ", not a list of parts", 0)
  end
  if rawget(found, "type") ~= nil then -- a single part
    found = { found }
  end
  for i = 1, #found do
    parts[#parts + 1] = found[i]
  end
end

function KINDS.load(source)
  local chunk, why = raw_load(source, "@" .. NAME, "t", env)
  if not chunk then
    error(sub(why, 1, #NAME + 1) == NAME .. ":" and why or NAME .. ": " .. why, 0)
  end
  chunk()
  for _, name in next, { "transform_request", "transform_response", "transform_stream_chunk" } do
    if not own(name) then
      error(NAME .. ": there is no function " .. name, 0)
    end
  end
  return encode({ models = own("models") ~= nil })
end

function KINDS.request(stream, request, source)
  source = decode(source, true) -- a null in arguments, schemas or what is sent besides stays one
  local given = env.transform_request(decode(request, true), source)
  if type(given) ~= "table" then
    error("transform_request returned a " .. type(given) .. ", not a table with url and body", 0)
  end
  local headers = given.headers
  if headers == nil and own("build_headers") then
    headers = env.build_headers(source)
  end
  local body = given.body
  if type(body) == "table" then
    body = encode(body)
  end
  streams[stream] = type(given.state) == "table" and given.state or {}
  body = type(body) == "string" and body or ""
  return encode({ url = given.url, headers = headers, framing = given.framing }), body
end

function KINDS.chunks(stream, events)
  local parts = task.parts
  local state = state_of(stream)
  events = decode(events)
  for i = 1, #events do
    add(parts, env.transform_stream_chunk(events[i][2], state, events[i][1]), "transform_stream_chunk")
  end
  return encode(parts, true)
end

function KINDS.finish(stream)
  add(task.parts, env.transform_stream_chunk(nil, state_of(stream), ""), "transform_stream_chunk")
  return encode(task.parts, true)
end

function KINDS.whole(stream, body)
  add(task.parts, env.transform_response(body, state_of(stream)), "transform_response")
  return encode(task.parts, true)
end

function KINDS.models(body)
  return encode(array(env.models(body)))
end

local tasks, inbox = {}, nil

-- Where in the script it was: the text says it, or else the innermost of the script's own lines that was running.
local function placed(text, trace)
  local prefix = NAME .. ":"
  if sub(text, 1, #prefix) == prefix then
    return text
  end
  local at = 1
  while true do
    local from, to = find(trace, prefix, at, true)
    if not from then
      return text
    end
    local line = match(trace, "^%d+", to + 1)
    if line then
      return prefix .. line .. ": " .. text
    end
    at = to + 1
  end
end

local function failed(t, what)
  local trace = traceback(t.co, "", 0)
  local text = type(what) == "table" and rawget(what, "message") or what
  local kind = type(what) == "table" and rawget(what, "kind") or nil
  text = type(text) == "number" and tostring(text) or text
  text = t.over or (type(text) == "string" and text) or "an error that is a " .. type(what) .. ", not a text"
  local ok, parts = pcall(encode, t.parts, true)
  if type(kind) == "string" and not t.over then -- meant to be raised: where does not matter
    return "fail", text, kind, trace, ok and parts or "[]"
  end
  return "fail", placed(text, trace), "", trace, ok and parts or "[]"
end

local function ended(id, t, ok, first, second, third)
  task = nil
  if ok and status(t.co) ~= "dead" and rawequal(first, HOST) then
    return "ask", second, third
  end
  tasks[id] = nil
  if ok then
    return "done", first, second or ""
  end
  return failed(t, first)
end

local host = {}

-- Arguments come here first, in a call of their own: pushing them may need memory that the script has used up.
function host.inbox(...)
  inbox = pack(...)
end

function host.start()
  local given = inbox
  inbox = nil
  local id, kind = given[1], given[2]
  local t = { spent = 0, parts = array({}) }
  tasks[id], task = t, t
  t.co = create(function()
    return KINDS[kind](unpack(given, 3, given.n))
  end)
  sethook(t.co, hook, "", STEP)
  return ended(id, t, resume(t.co))
end

function host.resume()
  local id, ok, answer = inbox[1], inbox[2], inbox[3]
  inbox = nil
  local t = tasks[id]
  task = t
  return ended(id, t, resume(t.co, ok, answer))
end

function host.drop(stream)
  streams[stream] = nil
end

function host.leave(id)
  tasks[id] = nil
end

function host.library(name, source)
  local chunk, why = raw_load(source, "=" .. name, "t", env)
  if not chunk then
    error(why, 0)
  end
  env[name] = chunk(raw_setmetatable)
  if name == "json" then -- ours, whatever a script makes of its global
    env.json.encode, env.json.decode = unhooked(env.json.encode), unhooked(env.json.decode)
    encode, decode, array = env.json.encode, env.json.decode, env.json.array
  end
end

return host
