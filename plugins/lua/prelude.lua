-- Runs first in every state: takes away what a plugin must not have, puts limits on the rest, and returns the functions
-- that the host calls.  Nothing of the host is in a table that a plugin can reach; only strings cross the border.
--
-- Plugin code runs in coroutines alone, for a count hook is per coroutine: it is what stops endless loops.  The main
-- thread, where the host's functions run, has no hook.
local host_tick, host_read, host_log, STEP = ...

local G = _G
local assert, error, getmetatable, ipairs, next, pcall, rawequal, rawget, rawlen, rawset, select, tonumber, tostring, type =
  assert, error, getmetatable, ipairs, next, pcall, rawequal, rawget, rawlen, rawset, select, tonumber, tostring, type
local raw_load, raw_setmetatable, raw_collect = load, setmetatable, collectgarbage
local sethook, traceback, meta_of = debug.sethook, debug.traceback, debug.getmetatable
local create, resume, yield, status, isyieldable, running =
  coroutine.create, coroutine.resume, coroutine.yield, coroutine.status, coroutine.isyieldable, coroutine.running
local concat, insert, remove, sort, move, unpack, pack =
  table.concat, table.insert, table.remove, table.sort, table.move, table.unpack, table.pack
local rep, find, match, gmatch, gsub, sub, byte, format =
  string.rep, string.find, string.match, string.gmatch, string.gsub, string.sub, string.byte, string.format
local utf8_char, math_type, huge = utf8.char, math.type, math.huge

local HOST = {} -- marks what is said to the host; no plugin gets hold of it
local MOST_MOVED = 10000000
local DEPTH = 64

-- Limits ------------------------------------------------------------------------------------------------------------

local idle = { spent = 0, limit = huge } -- the host's own work, which nothing may stop
local task = idle -- the call that runs now

local hook
local function look(t, count)
  t.spent = t.spent + count
  if not t.over then
    t.over = host_tick() or (t.spent > t.limit and "it ran more instructions than it may") or nil
  end
  if t.over then
    sethook(hook, "", 1) -- a pcall catches this error; the very next instruction raises it again
    error(t.over, 0)
  end
end

function hook()
  look(task, STEP)
end

-- What a C function works through without an instruction being counted.
local function charge(count)
  local t = task
  if t == idle then
    return
  end
  t.owed = (t.owed or 0) + count
  if t.over or t.owed > STEP then
    local owed = t.owed
    t.owed = 0
    look(t, owed)
  end
end

local function long(text)
  if type(text) == "string" then
    charge(#text // 8)
  end
end

-- A length that a table only claims would have C loops run for years.
local function honest(t)
  if type(t) == "table" then
    local meta = meta_of(t)
    if meta and rawget(meta, "__len") ~= nil then
      error("not for a table with __len", 3)
    end
    charge(rawlen(t) // 8)
  end
end

-- The libraries -----------------------------------------------------------------------------------------------------

meta_of("").__metatable = false
meta_of(host_tick).__metatable = false -- an error in the host may come as one of its objects
string.dump = nil

function string.rep(text, n, between)
  if (text == "" and (between == nil or between == "")) then
    return ""
  end
  return rep(text, n, between)
end
function string.find(text, ...)
  long(text)
  return find(text, ...)
end
function string.match(text, ...)
  long(text)
  return match(text, ...)
end
function string.gmatch(text, ...)
  long(text)
  return gmatch(text, ...)
end
function string.gsub(text, ...)
  long(text)
  return gsub(text, ...)
end

function table.insert(t, ...)
  honest(t)
  return insert(t, ...)
end
function table.remove(t, ...)
  honest(t)
  return remove(t, ...)
end
function table.concat(t, ...)
  honest(t)
  return concat(t, ...)
end
function table.sort(t, ...)
  honest(t)
  return sort(t, ...)
end
function table.unpack(t, ...)
  honest(t)
  return unpack(t, ...)
end
function table.move(from, first, last, ...)
  if math_type(first) and math_type(last) and last - first > MOST_MOVED then
    error("too many elements to move", 2)
  end
  return move(from, first, last, ...)
end

-- A finalizer runs without hooks: nothing would stop a loop in one.
function setmetatable(t, meta)
  if type(meta) == "table" and rawget(meta, "__gc") ~= nil then
    error("__gc is not for plugins", 2)
  end
  return raw_setmetatable(t, meta)
end

-- Deep in C calls, or with its stack full, a coroutine has no room for the hook: that raises an overflow instead, which
-- a pcall catches.  Hence every error that is caught counts, and the limits are looked at where it was caught; and so
-- that all of a deep stack is not gone through for each, pcalls nest only so far.
local CAUGHT = 500
local NESTED = 100
local depths = raw_setmetatable({}, { __mode = "k" })
local function caught(co, depth, ok, ...)
  depths[co] = depth
  if not ok then
    charge(CAUGHT)
  end
  return ok, ...
end
local raw_pcall = pcall
local function safe_pcall(f, ...)
  local co = running()
  local depth = depths[co] or 0
  if depth >= NESTED then
    error("more than " .. NESTED .. " pcalls in each other", 2)
  end
  depths[co] = depth + 1
  return caught(co, depth, raw_pcall(f, ...))
end
pcall = safe_pcall -- the local one, for what follows here
G.pcall = safe_pcall

-- The original's message handler runs inside the hook that raised, where no hook stops a loop.
local function handled(handler, ok, ...)
  if ok then
    return true, ...
  end
  return false, handler(...)
end
function xpcall(f, handler, ...)
  return handled(handler, pcall(f, ...))
end

function load(chunk, name, _, ...)
  if type(chunk) == "function" then
    local pieces = {}
    repeat
      local piece = chunk()
      pieces[#pieces + 1] = piece
    until piece == nil or piece == ""
    chunk = concat(pieces)
  end
  long(chunk)
  if select("#", ...) > 0 then
    return raw_load(chunk, name, "t", (...))
  end
  return raw_load(chunk, name, "t")
end

function collectgarbage(what)
  if what == "count" then
    return raw_collect("count")
  elseif what == nil or what == "collect" then
    charge(100 * STEP)
    return raw_collect("collect")
  end
  error("collectgarbage takes count and collect", 2)
end

function print(...)
  local words = pack(...)
  for i = 1, words.n do
    words[i] = tostring(words[i])
  end
  host_log("info", concat(words, "\t", 1, words.n))
end

-- A value for the host goes through a plugin's own coroutines up to the call's.
local function passing(co, ok, first, ...)
  if ok and rawequal(first, HOST) then
    return passing(co, resume(co, yield(HOST, ...)))
  end
  if not ok then
    charge(CAUGHT)
  end
  return ok, first, ...
end
local function unwrap(ok, ...)
  if ok then
    return ...
  end
  error((...), 0)
end
coroutine = { yield = yield, status = status, isyieldable = isyieldable }
function coroutine.create(f)
  charge(CAUGHT) -- each has a count of its own, and many short ones would never come to the end of it
  local co = create(f)
  sethook(co, hook, "", STEP)
  return co
end
function coroutine.resume(co, ...)
  return passing(co, resume(co, ...))
end
function coroutine.wrap(f)
  local co = coroutine.create(f)
  return function(...)
    return unwrap(passing(co, resume(co, ...)))
  end
end
local new_coroutine = coroutine.create

os = { time = os.time, date = os.date, clock = os.clock, difftime = os.difftime }
python, io, package, debug, dofile, loadfile, warn = nil, nil, nil, nil, nil, nil, nil

local loaded, loading = {}, {}
function require(name)
  if type(name) ~= "string" then
    error("require takes the name of a file of this plugin", 2)
  end
  local found = loaded[name]
  if found ~= nil then
    return found
  end
  if loading[name] then
    error("require('" .. name .. "') is on its way already: two files need each other", 2)
  end
  local text = host_read(name)
  charge(STEP + 1) -- a file was read, and a tick takes the reserve back that it came in with
  local where, source = match(text, "^%+([^\n]*)\n(.*)$")
  if not where then
    error(sub(text, 2), 2)
  end
  local chunk, why = raw_load(source, "@" .. where, "t")
  if not chunk then
    error(why, 0)
  end
  loading[name] = true
  local ok, value = pcall(chunk, name)
  loading[name] = nil
  if not ok then
    error(value, 0)
  end
  loaded[name] = value == nil and true or value
  return loaded[name]
end

-- JSON --------------------------------------------------------------------------------------------------------------

local ARRAY = { __metatable = "array" }
local NULL = raw_setmetatable({}, { __metatable = "null", __newindex = function() error("json.null is no table", 2) end })

local ESCAPES = { ['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t" }
local function escaped(c)
  return ESCAPES[c] or format("\\u%04x", byte(c))
end

local encode_value
local function is_list(value)
  local n = rawlen(value)
  if meta_of(value) == ARRAY then
    return true, n
  end
  local count = 0
  for key in next, value do
    if math_type(key) ~= "integer" or key < 1 or key > n then
      return false
    end
    count = count + 1
  end
  return count > 0 and count == n, n
end

local function encode_table(value, out, depth)
  if depth > DEPTH then
    error("JSON: nested more than " .. DEPTH .. " deep, or it holds itself", 0)
  end
  local list, n = is_list(value)
  if list then
    out[#out + 1] = "["
    for i = 1, n do
      if i > 1 then
        out[#out + 1] = ","
      end
      encode_value(rawget(value, i), out, depth + 1)
    end
    out[#out + 1] = "]"
    return
  end
  local comma = false
  out[#out + 1] = "{"
  for key, item in next, value do
    if type(key) == "number" then
      key = tostring(key)
    elseif type(key) ~= "string" then
      error("JSON: a " .. type(key) .. " cannot be a key", 0)
    end
    out[#out + 1] = (comma and ',"' or '"') .. gsub(key, '[%c"\\\127]', escaped) .. '":'
    comma = true
    encode_value(item, out, depth + 1)
  end
  out[#out + 1] = "}"
end

function encode_value(value, out, depth)
  local kind = type(value)
  if kind == "string" then
    charge(#value // 8)
    out[#out + 1] = '"' .. gsub(value, '[%c"\\\127]', escaped) .. '"'
  elseif kind == "table" then
    if rawequal(value, NULL) then
      out[#out + 1] = "null"
    else
      encode_table(value, out, depth)
    end
  elseif math_type(value) == "integer" then
    out[#out + 1] = format("%d", value)
  elseif kind == "number" then
    if value ~= value or value == huge or value == -huge then
      error("JSON: " .. tostring(value) .. " is no number there", 0)
    end
    local short = format("%.14g", value)
    short = tonumber(short) == value and short or format("%.17g", value)
    out[#out + 1] = find(short, "[.eE]") and short or short .. ".0"
  elseif kind == "boolean" or kind == "nil" then
    out[#out + 1] = kind == "nil" and "null" or tostring(value)
  else
    error("JSON: it cannot hold a " .. kind, 0)
  end
end

local function encode(value)
  local out = {}
  encode_value(value, out, 1)
  return concat(out)
end

local UNESCAPES = { b = "\b", f = "\f", n = "\n", r = "\r", t = "\t", ['"'] = '"', ["\\"] = "\\", ["/"] = "/" }

local function bad(at, what)
  error("JSON: " .. what .. " at byte " .. at, 0)
end

local function unicode(text, at)
  local code = match(text, "^%x%x%x%x", at)
  if not code then
    bad(at, "a wrong \\u")
  end
  return tonumber(code, 16), at + 4
end

local function decode_escape(text, at)
  local c = sub(text, at, at)
  if UNESCAPES[c] then
    return UNESCAPES[c], at + 1
  elseif c ~= "u" then
    bad(at, "a wrong escape")
  end
  local code, after = unicode(text, at + 1)
  if code >= 0xD800 and code < 0xDC00 and sub(text, after, after + 1) == "\\u" then
    local low, behind = unicode(text, after + 2)
    if low >= 0xDC00 and low < 0xE000 then
      return utf8_char(0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)), behind
    end
  end
  if code >= 0xD800 and code < 0xE000 then
    code = 0xFFFD
  end
  return utf8_char(code), after
end

local function decode_string(text, at)
  local stop = find(text, '[%c"\\]', at)
  if stop and sub(text, stop, stop) == '"' then
    return sub(text, at, stop - 1), stop + 1
  end
  local pieces = {}
  while true do
    stop = find(text, '[%c"\\]', at)
    local c = stop and sub(text, stop, stop)
    if c ~= '"' and c ~= "\\" then
      bad(stop or #text, "an unfinished string")
    end
    pieces[#pieces + 1] = sub(text, at, stop - 1)
    if c == '"' then
      return concat(pieces), stop + 1
    end
    pieces[#pieces + 1], at = decode_escape(text, stop + 1)
  end
end

local decode_value
local function skip(text, at)
  return find(text, "[^ \t\r\n]", at) or #text + 1
end

local function decode_list(text, at, depth)
  local list, n = raw_setmetatable({}, ARRAY), 0
  at = skip(text, at)
  if sub(text, at, at) == "]" then
    return list, at + 1
  end
  while true do
    local value
    value, at = decode_value(text, at, depth)
    n = n + 1
    if value == nil then
      value = NULL
    end
    list[n] = value
    at = skip(text, at)
    local c = sub(text, at, at)
    if c == "]" then
      return list, at + 1
    elseif c ~= "," then
      bad(at, "neither , nor ]")
    end
    at = at + 1
  end
end

local function decode_object(text, at, depth)
  local object = {}
  at = skip(text, at)
  if sub(text, at, at) == "}" then
    return object, at + 1
  end
  while true do
    at = skip(text, at)
    if sub(text, at, at) ~= '"' then
      bad(at, "no key")
    end
    local key
    key, at = decode_string(text, at + 1)
    at = skip(text, at)
    if sub(text, at, at) ~= ":" then
      bad(at, "no :")
    end
    object[key], at = decode_value(text, at + 1, depth)
    at = skip(text, at)
    local c = sub(text, at, at)
    if c == "}" then
      return object, at + 1
    elseif c ~= "," then
      bad(at, "neither , nor }")
    end
    at = at + 1
  end
end

function decode_value(text, at, depth)
  if depth > DEPTH then
    bad(at, "more than " .. DEPTH .. " levels")
  end
  at = skip(text, at)
  local c = sub(text, at, at)
  if c == '"' then
    return decode_string(text, at + 1)
  elseif c == "{" then
    return decode_object(text, at + 1, depth + 1)
  elseif c == "[" then
    return decode_list(text, at + 1, depth + 1)
  elseif sub(text, at, at + 3) == "null" then
    return nil, at + 4
  elseif sub(text, at, at + 3) == "true" then
    return true, at + 4
  elseif sub(text, at, at + 4) == "false" then
    return false, at + 5
  end
  local digits = match(text, "^-?%d+%.?%d*[eE]?[+-]?%d*", at)
  local number = digits and tonumber(digits)
  if not number then
    bad(at, "no value")
  end
  return number, at + #digits
end

local function decode(text)
  if type(text) ~= "string" then
    error("JSON: no text to decode", 0)
  end
  charge(#text // 8)
  local value, at = decode_value(text, 1, 1)
  at = skip(text, at)
  if at <= #text then
    bad(at, "something more")
  end
  return value
end

-- What start(sdk) gets ----------------------------------------------------------------------------------------------

local registering = false
local tools, stages, signals = {}, {}, {}
local settings = {}

local function ask(name, ...)
  if not isyieldable() then
    error("sdk." .. name .. " cannot wait here: a sort, a gsub or a metamethod is under way", 3)
  end
  local ok, answer = yield(HOST, name, encode(raw_setmetatable({ ... }, ARRAY)))
  if not ok then
    error(answer, 3)
  end
  return decode(answer)
end

local function described(what, known, given)
  if not registering then
    error("sdk.register_" .. what .. " is for start(sdk)", 3)
  end
  if type(given) ~= "table" or type(given.handler) ~= "function" then
    error("sdk.register_" .. what .. " takes a table with a handler", 3)
  end
  local entry = {}
  for key, value in next, given do
    if not known[key] then
      error("sdk.register_" .. what .. " does not know " .. tostring(key), 3)
    end
    if key ~= "handler" then
      entry[key] = value
    end
  end
  return entry
end

local TOOL = { name = 1, description = 1, parameters = 1, class = 1, handler = 1, guest = 1, parallel_safe = 1,
  timeout = 1, confirm = 1, no_memory = 1, untrusted = 1 }
local STAGE = { stage = 1, scope = 1, order = 1, on_failure = 1, handler = 1 }

local sdk = { settings = settings, json = { encode = encode, decode = decode, null = NULL }, meta = {}, http = {} }

function sdk.json.array(t)
  return raw_setmetatable(t or {}, ARRAY)
end

function sdk.register_tool(given)
  local entry = described("tool", TOOL, given)
  if type(entry.name) ~= "string" or tools[entry.name] then
    error("sdk.register_tool needs a name that is not taken", 2)
  end
  tools[entry.name] = { entry = entry, handler = given.handler }
end

function sdk.register_stage(given)
  local entry = described("stage", STAGE, given)
  if type(entry.stage) ~= "string" or stages[entry.stage] then
    error("sdk.register_stage needs a stage that has no handler yet", 2)
  end
  stages[entry.stage] = { entry = entry, handler = given.handler }
end

function sdk.on(event, f)
  if not registering then
    error("sdk.on is for start(sdk)", 2)
  end
  if type(event) ~= "string" or type(f) ~= "function" then
    error("sdk.on takes the name of an event and a function", 2)
  end
  signals[event] = signals[event] or {}
  insert(signals[event], f)
end

function sdk.log(level, ...)
  local words = pack(...)
  for i = 1, words.n do
    words[i] = tostring(words[i])
  end
  if words.n == 0 then
    words, level = { tostring(level), n = 1 }, "info"
  end
  host_log(tostring(level), concat(words, "\t", 1, words.n))
end

function sdk.inject(peer, text, options)
  return ask("inject", peer, text, options or {})
end
function sdk.set_setting(key, value)
  return ask("set_setting", key, value == nil and NULL or value)
end
function sdk.call(method, params)
  return ask("call", method, params or {})
end
function sdk.sleep(seconds)
  ask("sleep", seconds)
end
function sdk.http.get(url, options)
  return ask("http", "GET", url, options or {})
end
function sdk.http.post(url, options)
  return ask("http", "POST", url, options or {})
end

-- What the host calls -----------------------------------------------------------------------------------------------

local KINDS = {}

-- Compile and run main.lua, then its start(sdk); says what was registered.
function KINDS.main(source)
  local chunk, why = raw_load(source, "@main.lua", "t")
  if not chunk then
    error(why, 0)
  end
  registering = true
  chunk()
  local start = rawget(G, "start")
  if type(start) == "function" then
    start(sdk)
  end
  registering = false
  local found = { tools = raw_setmetatable({}, ARRAY), stages = raw_setmetatable({}, ARRAY),
    events = raw_setmetatable({}, ARRAY) }
  for _, tool in next, tools do
    insert(found.tools, tool.entry)
  end
  for _, stage in next, stages do
    insert(found.stages, stage.entry)
  end
  for event in next, signals do
    insert(found.events, event)
  end
  return encode(found)
end

function KINDS.check(source)
  local chunk, why = raw_load(source, "@main.lua", "t")
  return encode(chunk and "" or why)
end

function KINDS.stop()
  local stop = rawget(G, "stop")
  if type(stop) == "function" then
    stop()
  end
  return "null"
end

function KINDS.tool(name, arguments, about)
  local value, why = tools[name].handler(decode(arguments), decode(about))
  if value == nil and type(why) == "string" then
    error(why, 0)
  end
  return encode(value)
end

function KINDS.stage(name, fields, about)
  local changes = stages[name].handler(decode(fields), decode(about))
  if changes ~= nil and (type(changes) ~= "table" or (next(changes) ~= nil and is_list(changes))) then
    error("the handler of " .. name .. " returned no table of changed fields", 0)
  end
  return encode(changes)
end

function KINDS.event(name, notice)
  local failed
  for _, f in ipairs(signals[name] or {}) do
    local ok, why = pcall(f, decode(notice))
    failed = failed or (not ok and (type(why) == "string" and why or type(why))) or nil
  end
  if failed then
    error(failed, 0)
  end
  return "null"
end

local tasks, inbox = {}, nil

local function ended(id, t, ok, first, second, third)
  task = idle
  if not ok then
    tasks[id] = nil
    local text = type(first) == "string" and first or type(first) == "table" and rawget(first, "message")
    text = t.over or (type(text) == "string" and text) or "an error that is a " .. type(first) .. ", not a text"
    return "fail", text, traceback(t.co, "", 0)
  elseif status(t.co) == "dead" then
    tasks[id] = nil
    return "done", first
  elseif rawequal(first, HOST) then
    return "ask", second, third
  end
  tasks[id] = nil
  return "fail", "coroutine.yield outside of a coroutine", ""
end

local host = {}

-- Arguments come here first, in a call of their own: pushing them may need memory that the plugin has used up.
function host.inbox(...)
  inbox = pack(...)
end

function host.start()
  local id, limit, kind = inbox[1], inbox[2], inbox[3]
  local given = inbox
  inbox = nil
  local t = { spent = 0, limit = limit }
  tasks[id], task = t, t
  t.co = new_coroutine(function()
    return KINDS[kind](unpack(given, 4, given.n))
  end)
  return ended(id, t, resume(t.co))
end

function host.resume()
  local id, ok, answer = inbox[1], inbox[2], inbox[3]
  inbox = nil
  local t = tasks[id]
  if status(t.co) ~= "suspended" then
    tasks[id] = nil
    return "fail", "another call resumed this one's coroutine", ""
  end
  task = t
  return ended(id, t, resume(t.co, ok, answer))
end

function host.drop(id)
  tasks[id] = nil
end

function host.settings()
  local given = decode(inbox[1])
  inbox = nil
  for key in next, settings do
    rawset(settings, key, nil) -- whatever a plugin has made of the table, none of its code runs here
  end
  for key, value in next, given do
    rawset(settings, key, value)
  end
end

function host.meta()
  for key, value in next, decode(inbox[1]) do
    sdk.meta[key] = value
  end
  inbox = nil
end

return host
