-- Small things that every adapter needs: names and ids as servers take them, texts by characters.
local raw_setmetatable = ...
local format, gsub, match, sub, byte = string.format, string.gsub, string.match, string.sub, string.byte
local random, offset, codes = math.random, utf8.offset, utf8.codes
local LONGEST_NAME, LONGEST_ID = 64, 40
local ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

local util = {
  CUT_OFF = "(What was said before is not shown.)", -- first, where a person has to begin
  GO_ON = "(Go on.)", -- last, where a person has to end
  BRIDGE = "(I have the results.)", -- between a tool's result and a person's message
}

-- With an underscore for every character that is no letter, digit, underscore or dash.
local function safe_word(text)
  return (gsub(gsub(text, "[\xC0-\xFF][\x80-\xBF]*", "_"), "[^%w_-]", "_"))
end

-- The name of a tool as servers take it: a model may call what does not exist by any name, or by none.
function util.tool_name(said)
  local name = sub(safe_word(said or ""), 1, LONGEST_NAME)
  return name == "" and "unnamed" or name
end

-- A new call id.
function util.new_id()
  return format("call_%012x%012x", random(0, (1 << 48) - 1), random(0, (1 << 48) - 1))
end

local function digest(text, length)
  local letters = {}
  local hash = -3750763034362895579 -- FNV-1a of 64 bits
  for round = 1, length do
    for at = 1, #text do
      hash = (hash ~ byte(text, at)) * 1099511628211
    end
    hash = (hash ~ round) * 1099511628211
    local place = ((hash >> 17) & 0x7fffffff) % 62 + 1
    letters[round] = sub(ALPHABET, place, place)
  end
  return table.concat(letters)
end

-- Call ids as a server takes them, each its own in the whole history, the same for the same history: `called(id)` for a
-- call (one more of the same id gets another), `answered(id)` for the result of the newest that had it.  With `nine`
-- they are nine letters and digits.
function util.ids(nine)
  local given, taken = {}, {}
  local salts = {} -- below which all that can be made of an id is taken
  local function made(id, salt)
    if nine then
      return salt == 0 and #id == 9 and match(id, "^%w+$") and id or digest(salt .. "/" .. id, 9)
    end
    local safe = safe_word(id)
    if safe ~= "" and #safe <= LONGEST_ID and salt == 0 then
      return safe
    end
    return sub(safe, 1, LONGEST_ID - 13) .. "_" .. digest(salt .. "/" .. id, 12)
  end
  local ids = {}
  function ids.called(id)
    local salt = salts[id] or 0
    local found = made(id, salt)
    while taken[found] do
      salt = salt + 1
      found = made(id, salt)
    end
    given[id], taken[found], salts[id] = found, true, salt + 1
    return found
  end
  function ids.answered(id)
    return given[id] or ids.called(id)
  end
  return ids
end

-- A text, or an empty one for anything else.
function util.text(value)
  return type(value) == "string" and value or ""
end

-- Whether there is a value: neither nil nor JSON's null.
function util.given(value)
  return value ~= nil and value ~= json.null
end


function util.blank(text)
  return text == nil or match(text, "%S") == nil
end

-- Characters of a text; both halves of a pair that came apart are one.
function util.length(text)
  local n = 0
  for _, code in codes(text, true) do
    if code < 0xDC00 or code > 0xDFFF then
      n = n + 1
    end
  end
  return n
end

-- `count` characters from byte `at` on, and the byte behind them; nil if there are not so many.
function util.take(text, at, count)
  local behind = offset(text, count + 1, at)
  if not behind then
    return nil
  end
  return sub(text, at, behind - 1), behind
end

-- The instructions of a history as one text.
function util.system_of(messages)
  local texts = {}
  for _, m in ipairs(messages) do
    if m.role == "system" and not util.blank(m.text) then
      texts[#texts + 1] = m.text
    end
  end
  return table.concat(texts, "\n\n")
end

-- The option of that name, or else what stands for it.
function util.option(source, name, default)
  local value = source.options[name]
  if not util.given(value) then
    return default
  end
  return value
end

-- What `extra` holds goes over what is there.
function util.with_extra(body, source)
  for key, value in pairs(util.option(source, "extra", {})) do
    body[key] = value
  end
  return body
end

-- The base URL without a slash at its end and without what stands there of `tails`.
function util.base(source, ...)
  local base = gsub(source.base_url, "/+$", "")
  for _, tail in ipairs({ ... }) do
    if sub(base, -#tail) == tail then
      base = gsub(sub(base, 1, -#tail - 1), "/+$", "")
    end
  end
  return base
end

return util
