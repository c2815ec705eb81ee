-- JSON both ways.  What is decoded and encoded again has its keys in the same order; what a script makes has them
-- sorted: the same request is the same bytes each time, which is what a source's prompt cache goes by.
local raw_setmetatable = ...

local error, getmetatable, next, rawequal, rawget, rawlen, tonumber, tostring, type =
  error, getmetatable, next, rawequal, rawget, rawlen, tonumber, tostring, type
local math_type, huge, utf8_char = math.type, math.huge, utf8.char
local concat, sort = table.concat, table.sort
local byte, find, format, gsub, match, sub = string.byte, string.find, string.format, string.gsub, string.match, string.sub

local DEPTH = 150
local ARRAY = { __metatable = "array" }
local NULL = raw_setmetatable({}, {
  __metatable = "null",
  __newindex = function()
    error("json.null is no table", 2)
  end,
})
local ORDER = raw_setmetatable({}, { __mode = "k" }) -- decoded object → its keys

-- Encoding ----------------------------------------------------------------------------------------------------------

local ESCAPES = { ['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t" }
local function escaped(c)
  return ESCAPES[c] or format("\\u%04x", byte(c))
end
local function quoted(text)
  if find(text, '[%c"\\]') then
    text = gsub(text, '[%c"\\]', escaped)
  end
  return '"' .. text .. '"'
end

-- The same keys stand in every request.
local labels, label_count = {}, 0
local function label(key)
  local found = labels[key]
  if not found then
    if label_count > 500 then
      labels, label_count = {}, 0
    end
    found = quoted(key) .. ":"
    labels[key], label_count = found, label_count + 1
  end
  return found
end

local function is_list(value)
  local n = rawlen(value)
  if getmetatable(value) == "array" then
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

local function keys_of(value)
  local keys, count, all, known = {}, 0, 0, nil
  local order = ORDER[value]
  for at = 1, order and #order or 0 do
    if rawget(value, order[at]) ~= nil then
      count = count + 1
      keys[count] = order[at]
    end
  end
  for key in next, value do
    if type(key) ~= "string" then
      error("JSON: a key is a " .. type(key) .. "; an object has texts, a list has 1, 2, 3 … without a gap", 0)
    end
    all = all + 1
  end
  if all > count then -- some were put in by the script: they come behind, sorted
    known = {}
    for at = 1, count do
      known[keys[at]] = true
    end
    local more = {}
    for key in next, value do
      if not known[key] then
        more[#more + 1] = key
      end
    end
    sort(more)
    for at = 1, #more do
      keys[count + at] = more[at]
    end
  end
  return keys
end

local endless -- whether a number may be written that is beyond all: as it came, for whoever reads it to refuse
local encode_value
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
  local keys = keys_of(value)
  out[#out + 1] = "{"
  for i = 1, #keys do
    if i > 1 then
      out[#out + 1] = ","
    end
    out[#out + 1] = label(keys[i])
    encode_value(rawget(value, keys[i]), out, depth + 1)
  end
  out[#out + 1] = "}"
end

function encode_value(value, out, depth)
  local kind = type(value)
  if kind == "string" then
    out[#out + 1] = quoted(value)
  elseif kind == "table" then
    if rawequal(value, NULL) then
      out[#out + 1] = "null"
    else
      encode_table(value, out, depth)
    end
  elseif math_type(value) == "integer" then
    out[#out + 1] = format("%d", value)
  elseif kind == "number" then
    if endless and (value == huge or value == -huge) then
      out[#out + 1] = value == huge and "1e999" or "-1e999"
      return
    elseif value ~= value or value == huge or value == -huge then
      error("JSON: " .. tostring(value) .. " is no number there", 0)
    end
    local short = format("%.15g", value)
    short = tonumber(short) == value and short or format("%.17g", value)
    out[#out + 1] = find(short, "[.eE]") and short or short .. ".0"
  elseif kind == "boolean" or kind == "nil" then
    out[#out + 1] = kind == "nil" and "null" or tostring(value)
  else
    error("JSON: it cannot hold a " .. kind, 0)
  end
end

-- Decoding ----------------------------------------------------------------------------------------------------------

local UNESCAPES = { b = "\b", f = "\f", n = "\n", r = "\r", t = "\t", ['"'] = '"', ["\\"] = "\\", ["/"] = "/" }

-- An error of this kind, where an answer is read, means that the source sent what cannot be read.
local function bad(at, what)
  error({ kind = "unreadable", message = "it is broken JSON: " .. what .. " at byte " .. at }, 0)
end

local function unicode(text, at)
  local code = match(text, "^%x%x%x%x", at)
  if not code then
    bad(at, "a wrong \\u")
  end
  return tonumber(code, 16), at + 4
end

-- Half a pair stays what it is: the other half may come with the next chunk, and homed joins them.
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
  return utf8_char(code), after
end

-- Where the next backslash is, as far as it is known; and whether there is any control character in the text.
local slash, clean = 0, false

local function decode_pieces(text, at)
  local pieces = {}
  while true do
    local stop = find(text, '[%c"\\]', at)
    local c = stop and byte(text, stop)
    if c == 127 then -- DEL counts as a control character for patterns, and is one like any other for JSON
      pieces[#pieces + 1] = sub(text, at, stop)
      at = stop + 1
    elseif c ~= 34 and c ~= 92 then
      bad(stop or #text, "an unfinished string")
    else
      pieces[#pieces + 1] = sub(text, at, stop - 1)
      if c == 34 then
        return concat(pieces), stop + 1
      end
      pieces[#pieces + 1], at = decode_escape(text, stop + 1)
    end
  end
end

local function decode_string(text, at)
  if not clean then
    return decode_pieces(text, at)
  end
  local stop = find(text, '"', at, true)
  if not stop then
    bad(#text, "an unfinished string")
  end
  if slash < at then
    slash = find(text, "\\", at, true) or huge
  end
  if slash < stop then
    return decode_pieces(text, at)
  end
  return sub(text, at, stop - 1), stop + 1
end

local keep_null = false

local decode_value
local function skip(text, at)
  local c = byte(text, at)
  if c and c > 32 then
    return at
  end
  return find(text, "[^ \t\r\n]", at) or #text + 1
end

local function decode_list(text, at, depth)
  local list, n = raw_setmetatable({}, ARRAY), 0
  at = skip(text, at)
  if byte(text, at) == 93 then
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
    local c = byte(text, at)
    if c == 93 then
      return list, at + 1
    elseif c ~= 44 then
      bad(at, "neither , nor ]")
    end
    at = at + 1
  end
end

local function decode_object(text, at, depth)
  local object, keys, n = {}, {}, 0
  ORDER[object] = keys
  at = skip(text, at)
  if byte(text, at) == 125 then
    return object, at + 1
  end
  while true do
    at = skip(text, at)
    if byte(text, at) ~= 34 then
      bad(at, "no key")
    end
    local key, value
    key, at = decode_string(text, at + 1)
    at = skip(text, at)
    if byte(text, at) ~= 58 then
      bad(at, "no :")
    end
    value, at = decode_value(text, at + 1, depth)
    if object[key] == nil then -- not twice, should it come twice
      n = n + 1
      keys[n] = key
    end
    if value == nil and keep_null then
      value = NULL
    end
    object[key] = value
    at = skip(text, at)
    local c = byte(text, at)
    if c == 125 then
      return object, at + 1
    elseif c ~= 44 then
      bad(at, "neither , nor }")
    end
    at = at + 1
  end
end

local function decode_number(text, at)
  local digits = match(text, "^-?%d+", at)
  if not digits or find(digits, "^-?0%d") then
    bad(at, "no value")
  end
  local stop = at + #digits
  stop = stop + #(match(text, "^%.%d+", stop) or "")
  stop = stop + #(match(text, "^[eE][+-]?%d+", stop) or "")
  return tonumber(sub(text, at, stop - 1)), stop
end

function decode_value(text, at, depth)
  if depth > DEPTH then
    bad(at, "more than " .. DEPTH .. " levels")
  end
  at = skip(text, at)
  local c = byte(text, at)
  if c == 34 then
    return decode_string(text, at + 1)
  elseif c == 123 then
    return decode_object(text, at + 1, depth + 1)
  elseif c == 91 then
    return decode_list(text, at + 1, depth + 1)
  elseif sub(text, at, at + 3) == "null" then
    return nil, at + 4
  elseif sub(text, at, at + 3) == "true" then
    return true, at + 4
  elseif sub(text, at, at + 4) == "false" then
    return false, at + 5
  end
  return decode_number(text, at)
end

-- What scripts have -------------------------------------------------------------------------------------------------

local json = { null = NULL }

function json.encode(value, as_it_came)
  local out = {}
  endless = as_it_came == true
  encode_value(value, out, 1)
  return concat(out)
end

function json.decode(text, keep)
  if type(text) ~= "string" then
    error("JSON: no text to decode but a " .. type(text), 2)
  end
  keep_null = keep == true
  slash, clean = 0, not find(text, "%c")
  local value, at = decode_value(text, 1, 1)
  at = skip(text, at)
  if at <= #text then
    bad(at, "something more")
  end
  return value
end

function json.array(t)
  return raw_setmetatable(t or {}, ARRAY)
end

-- The same keys and values in a table of its own; the order of the keys goes along.
function json.copy(from)
  local to = {}
  for key, value in next, from do
    to[key] = value
  end
  ORDER[to] = ORDER[from]
  return raw_setmetatable(to, getmetatable(from) == "array" and ARRAY or nil)
end

function json.is_array(value)
  return type(value) == "table" and getmetatable(value) == "array"
end

return json
