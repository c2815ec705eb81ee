-- Google's Gemini API: https://generativelanguage.googleapis.com/v1beta
--
-- Results go by name and order, not by call ids.  A thought signature goes back with the very part it came with; calls
-- that another source made get the documented sentinel in its place, without which newer models refuse the history.
-- Signatures are kept in the message's opaque part, a list of { t = characters of the text, s = signature } and of
-- { c = id of the call, s = signature, i = true where the id is the source's own }; the native adapter keeps the same.
local WIRE = "gemini"
local SENTINEL = "skip_thought_signature_validator"

local REASONS = { STOP = "stop", MAX_TOKENS = "length" }
local function set(...)
  local made = {}
  for _, name in ipairs({ ... }) do
    made[name] = true
  end
  return made
end
local REFUSED = set("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "IMAGE_SAFETY",
  "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION")
-- The model made a call that its own server could not read; told of it, it does better.
local BROKEN_CALL = set("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL")

-- Schemas -----------------------------------------------------------------------------------------------------------
-- A JSON Schema in the part of OpenAPI's that Gemini takes: references are put in their places, allOf is merged, const
-- becomes a list of one, a type that may be null becomes `nullable`; what has no counterpart is left out.

-- Levels, and parts that may be made with as many: what is within itself in several places has more with every level,
-- and is shown with fewer of them.
local LEVELS = { { 12, 1000 }, { 6, 1000 }, { 4, 1000 }, { 3, 1000 }, { 2, math.huge } }
local TOO_MUCH = {}
local deepest, left
local KEPT = { "title", "description", "minItems", "maxItems", "minProperties", "maxProperties", "minLength",
  "maxLength", "pattern", "minimum", "maximum" }
local FORMATS = { string = set("enum", "date-time"), integer = set("int32", "int64"), number = set("float", "double") }
local TYPES = set("string", "number", "integer", "boolean", "array", "object")

local clean

local function step()
  left = left - 1
  if left < 0 then
    error(TOO_MUCH)
  end
end

local function list_of(value)
  return json.is_array(value) and value or {}
end

local function table_of(value)
  return type(value) == "table" and not json.is_array(value) and value or {}
end

local function over(under, above)
  local made = {}
  for _, from in ipairs({ under, above }) do
    for key, value in pairs(from) do
      made[key] = value
    end
  end
  return made
end

local function appended(first, second)
  local made = json.array({})
  for _, from in ipairs({ first, second }) do
    for _, value in ipairs(from) do
      table.insert(made, value)
    end
  end
  return made
end

local function definitions(schema)
  local found = {}
  for _, name in ipairs({ "definitions", "$defs" }) do
    for key, value in pairs(table_of(schema[name])) do
      found["#/" .. name .. "/" .. key] = value
    end
  end
  return found
end

-- With references and allOf put in.
local function merged(schema, defined, depth)
  local whole = over({}, table_of(schema))
  if depth >= deepest then
    return whole
  end
  step()
  local reference, all = whole["$ref"], list_of(whole.allOf)
  whole["$ref"], whole.allOf = nil, nil
  if type(reference) == "string" then
    whole = over(merged(defined[reference], defined, depth + 1), whole)
  end
  for _, part in ipairs(all) do
    local other = merged(part, defined, depth + 1)
    local properties = over(table_of(whole.properties), table_of(other.properties))
    local required = appended(list_of(whole.required), list_of(other.required))
    whole = over(other, whole)
    whole.properties = next(properties) and properties or whole.properties
    whole.required = #required > 0 and required or whole.required
  end
  return whole
end

local function type_of(whole)
  local said, nullable, kind = whole.type, whole.nullable == true, nil
  for _, one in ipairs(json.is_array(said) and said or { said }) do
    nullable = nullable or (one == "null" and json.is_array(said))
    kind = kind or (TYPES[one] and one)
  end
  return kind or (whole.properties and "object") or (whole.items and "array") or "string", nullable
end

local function plain(value)
  return type(value) == "table" and json.encode(value) or tostring(value)
end

local function listed(out, kind, allowed)
  if #allowed == 0 then
    return
  end
  local texts = json.array({})
  for _, one in ipairs(allowed) do
    if kind ~= "string" or (type(one) == "string" and one ~= "") then
      table.insert(texts, plain(one))
    end
  end
  if kind == "string" then
    out.enum = texts
  else -- only texts can be listed
    local told = "One of: " .. table.concat(texts, ", ") .. "."
    out.description = util.blank(out.description) and told or out.description .. " " .. told
  end
end

local function of_object(out, whole, defined, depth)
  local properties = {}
  for key, value in pairs(table_of(whole.properties)) do
    properties[key] = clean(value, defined, depth + 1)
  end
  if next(properties) == nil then
    return
  end
  out.properties = properties
  local required, known = json.array({}), {}
  for _, name in ipairs(list_of(whole.required)) do
    if properties[name] and not known[name] then
      known[name] = true
      table.insert(required, name)
    end
  end
  out.required = #required > 0 and required or nil
end

local function of_type(out, kind, whole, defined, depth)
  out.type = kind
  if type(whole.format) == "string" and (FORMATS[kind] or {})[whole.format] then
    out.format = whole.format
  end
  listed(out, kind, whole.const ~= nil and { whole.const } or list_of(whole.enum))
  if kind == "object" then
    of_object(out, whole, defined, depth)
  elseif kind == "array" then
    local items = table_of(whole.items)
    out.items = next(items) and clean(items, defined, depth + 1) or { type = "string" }
  end
end

function clean(schema, defined, depth)
  if depth >= deepest then
    return { type = "object" }
  end
  step()
  local whole, out = merged(schema, defined, depth), {}
  for _, key in ipairs(KEPT) do
    out[key] = whole[key]
  end
  local kind, nullable = type_of(whole)
  local kinds, nulls = {}, false
  for _, branch in ipairs(appended(list_of(whole.anyOf), list_of(whole.oneOf))) do
    if table_of(branch).type == "null" then
      nulls = true
    else
      table.insert(kinds, branch)
    end
  end
  nullable = nullable or nulls
  if #kinds == 1 then
    out = over(clean(kinds[1], defined, depth + 1), out)
  elseif #kinds > 1 then
    out.anyOf = json.array({})
    for _, branch in ipairs(kinds) do
      table.insert(out.anyOf, clean(branch, defined, depth + 1))
    end
  else
    of_type(out, kind, whole, defined, depth)
  end
  out.nullable = nullable or out.nullable
  return out
end

local function cleaned(schema)
  local defined = definitions(schema)
  for _, level in ipairs(LEVELS) do
    deepest, left = level[1], level[2]
    local ok, made = pcall(clean, schema, defined, 0)
    if ok then
      return made
    elseif not rawequal(made, TOO_MUCH) then
      error(made, 0)
    end
  end
end

-- Requests ----------------------------------------------------------------------------------------------------------

local function signed(part, signature)
  if type(signature) == "string" and signature ~= "" then
    part.thoughtSignature = signature
  end
  return part
end

local function called(call, id)
  return { functionCall = { id = id, name = util.tool_name(call.name), args = call.arguments } }
end

-- The message part by part with its signatures, as it came; nil if there are none, or they do not fit any more.
local function laid_out(m, given_ids)
  if not m.opaque or m.opaque.wire ~= WIRE then
    return nil
  end
  local fine, layout = pcall(json.decode, m.opaque.data)
  if not fine or not json.is_array(layout) then
    return nil
  end
  local out, at, calls, given = {}, 1, 0, {}
  for _, part in ipairs(layout) do
    if math.type(part.t) == "integer" then
      local piece, behind = util.take(m.text, at, part.t)
      if not piece then
        return nil
      end
      at = behind
      if not util.blank(piece) or part.s then
        table.insert(out, signed({ text = piece }, part.s))
      end
    elseif type(part.c) == "string" then
      calls = calls + 1
      local call = m.calls[calls]
      if not call or call.id ~= part.c then
        return nil
      end
      given[call.id] = part.i
      table.insert(out, signed(called(call, part.i and call.id or nil), part.s))
    else
      return nil
    end
  end
  if at ~= #m.text + 1 or calls ~= #m.calls or #out == 0 then
    return nil
  end
  for id in pairs(given) do
    given_ids[id] = true
  end
  return out
end

local function assistant_parts(m, sentinel, given_ids)
  local parts = laid_out(m, given_ids)
  if parts then
    return parts
  end
  parts = {}
  if not util.blank(m.text) then
    table.insert(parts, { text = m.text })
  end
  for _, call in ipairs(m.calls) do
    table.insert(parts, signed(called(call), sentinel))
  end
  return parts
end

local function user_parts(m)
  local parts = {}
  if not util.blank(m.text) then
    table.insert(parts, { text = m.text })
  end
  for _, from in ipairs({ m.images or {}, m.audio or {} }) do
    for _, media in ipairs(from) do
      table.insert(parts, { inlineData = { mimeType = media.media_type, data = media.data } })
    end
  end
  return parts
end

local function parts_of(m, sentinel, given_ids)
  if m.role == "user" then
    return "user", user_parts(m)
  elseif m.role == "assistant" then
    return "model", assistant_parts(m, sentinel, given_ids)
  elseif m.role == "tool" then
    local response = { name = util.tool_name(m.name), response = { [m.is_error and "error" or "result"] = m.text } }
    response.id = given_ids[m.call_id] and m.call_id or nil
    return "result", { { functionResponse = response } }
  end
  return "", {}
end

-- Contents of which the first and the last are a person's, and none is empty.  Results stand in one of their own, as
-- many as there were calls in the one before.
local function contents_of(messages, sentinel)
  local contents, before, given_ids = json.array({}), "", {}
  for _, m in ipairs(messages) do
    local kind, parts = parts_of(m, sentinel, given_ids)
    if #parts > 0 then
      if #contents == 0 and kind == "model" then
        table.insert(contents, { role = "user", parts = json.array({ { text = util.CUT_OFF } }) })
      end
      if kind ~= before then
        table.insert(contents, { role = kind == "model" and "model" or "user", parts = json.array({}) })
      end
      for _, part in ipairs(parts) do
        table.insert(contents[#contents].parts, part)
      end
      before = kind
    end
  end
  if #contents == 0 or contents[#contents].role == "model" then
    table.insert(contents, { role = "user", parts = json.array({ { text = util.GO_ON } }) })
  end
  return contents
end

local function config_of(request, source)
  local config = {}
  local limit = request.max_tokens or util.option(source, "max_tokens", 0)
  config.maxOutputTokens = limit > 0 and limit or nil
  if util.option(source, "temperature", "send") == "send" then
    config.temperature = request.temperature
  end
  local how, effort = util.option(source, "thinking", "off"), util.option(source, "effort", "")
  if effort ~= "" then
    config.thinkingConfig = { includeThoughts = true, thinkingLevel = effort }
  elseif how ~= "off" then
    config.thinkingConfig = { includeThoughts = true, thinkingBudget = how == "adaptive" and -1 or how }
  end
  return next(config) and config or nil
end

local function quoted(text)
  return (text:gsub("[^%w/_.~-]", function(c)
    return ("%%%02X"):format(c:byte())
  end))
end

function transform_request(request, source)
  local sentinel = util.option(source, "foreign_signature", SENTINEL)
  local body = { contents = contents_of(request.messages, sentinel), generationConfig = config_of(request, source) }
  local system = util.system_of(request.messages)
  if system ~= "" then
    body.systemInstruction = { parts = json.array({ { text = system } }) }
  end
  if request.tools then
    local declared = json.array({})
    for _, tool in ipairs(request.tools) do
      local parameters = cleaned(tool.parameters)
      parameters = parameters.properties and parameters or nil
      table.insert(declared, { name = tool.name, description = tool.description, parameters = parameters })
    end
    body.tools = json.array({ { functionDeclarations = declared } })
  end
  local base = util.base(source, "/openai")
  base = base:match("/v%d+%a*%d*$") and base or base .. "/v1beta"
  local model = source.model:find("/", 1, true) and source.model or "models/" .. source.model
  local how = util.option(source, "stream", true) and "streamGenerateContent?alt=sse" or "generateContent"
  return { url = base .. "/" .. quoted(model) .. ":" .. how, body = util.with_extra(body, source) }
end

function build_headers(source)
  return { ["x-goog-api-key"] = "{api_key}" } -- in a header, never in the address, which logs keep
end

-- Answers -----------------------------------------------------------------------------------------------------------

local function usage_of(usage)
  local function count(name)
    return tonumber(usage[name]) or 0
  end
  local cached = count("cachedContentTokenCount")
  local prompt = count("promptTokenCount") + count("toolUsePromptTokenCount")
  -- Thoughts are written like any other word.
  local written = count("candidatesTokenCount") + count("thoughtsTokenCount")
  return { type = "usage", prompt = math.max(prompt, cached), completion = written, cached = cached }
end

local function refused(parts, reason)
  local said = { type = "refusal", message = "the content was blocked (" .. reason .. ")" }
  table.insert(parts, { type = "error", body = { error = said } })
end

-- Texts without a signature are one; one with a signature is joined to nothing.
local function lay(state, length, signature)
  local last = state.layout[#state.layout]
  if not signature and last and last.t and not last.s then
    last.t = last.t + length
  elseif length > 0 or signature then
    table.insert(state.layout, { t = length, s = signature })
  end
end

local function call_in(parts, state, call, signature)
  state.ids = state.ids or {}
  local own = type(call.id) == "string" and call.id ~= "" and not state.ids[call.id]
  local id = own and call.id or util.new_id()
  state.ids[id] = true
  state.calls = (state.calls or 0) + 1
  table.insert(state.layout, { c = id, s = signature, i = own or nil })
  local arguments = type(call.args) == "table" and call.args or {}
  table.insert(parts, { type = "call", index = state.calls - 1, id = id, name = call.name, arguments = arguments })
end

local function part_in(parts, state, part)
  local signature = type(part.thoughtSignature) == "string" and part.thoughtSignature ~= "" and part.thoughtSignature
    or nil
  if type(part.functionCall) == "table" then
    call_in(parts, state, part.functionCall, signature)
  elseif part.thought == true then
    table.insert(parts, { type = "reasoning", text = part.text })
  else
    local text = type(part.text) == "string" and part.text or ""
    lay(state, util.length(text), signature)
    table.insert(parts, { type = "content", text = text })
  end
end

local function stop(parts, state, candidate)
  local reason = candidate.finishReason
  if type(reason) ~= "string" or reason == "" or reason == "FINISH_REASON_UNSPECIFIED" then
    return
  end
  if REFUSED[reason] then
    refused(parts, reason)
  elseif BROKEN_CALL[reason] then
    local why = type(candidate.finishMessage) == "string" and candidate.finishMessage or reason
    local said = { type = "broken_call", message = "error parsing tool call: " .. why }
    table.insert(parts, { type = "error", body = { error = said } })
  end
  state.reason = REASONS[reason] or reason:lower()
end

local function read(parts, chunk, state)
  if type(chunk) ~= "table" or json.is_array(chunk) then
    error({ kind = "unreadable", message = "it is not a JSON object" })
  end
  state.layout = state.layout or json.array({})
  if util.given(chunk.error) then
    table.insert(parts, { type = "error", body = chunk })
    return
  end
  if type(chunk.usageMetadata) == "table" then
    table.insert(parts, usage_of(chunk.usageMetadata))
  end
  local blocked = type(chunk.promptFeedback) == "table" and util.text(chunk.promptFeedback.blockReason) or ""
  if blocked ~= "" then
    refused(parts, blocked)
    return
  end
  local candidate = type(chunk.candidates) == "table" and chunk.candidates[1]
  if type(candidate) ~= "table" then
    return
  end
  local content = type(candidate.content) == "table" and candidate.content.parts
  for _, part in ipairs(type(content) == "table" and content or {}) do
    part_in(parts, state, part)
  end
  stop(parts, state, candidate)
end

local function finish(parts, state)
  local signatures = false
  for _, part in ipairs(state.layout) do
    signatures = signatures or part.s or part.i
  end
  if signatures then
    table.insert(parts, { type = "opaque", wire = WIRE, data = state.layout })
  end
  local reason = state.reason or "stop"
  table.insert(parts, { type = "done", reason = state.calls and reason == "stop" and "tool_calls" or reason })
end

function transform_stream_chunk(chunk, state)
  local parts = {}
  if chunk then
    read(parts, json.decode(chunk, true), state)
  elseif state.reason then
    finish(parts, state)
  end
  return parts
end

-- A stream that was not asked for as events is one list of responses.
function transform_response(body, state)
  local parts, said = {}, json.decode(body, true)
  for _, chunk in ipairs(json.is_array(said) and said or { said }) do
    read(parts, chunk, state)
  end
  if not state.layout then
    error({ kind = "unreadable", message = "it holds no response" })
  end
  finish(parts, state)
  return parts
end

-- The models that can be talked with, by its answer to GET /models.
function models(body)
  local names = {}
  for _, model in ipairs(json.decode(body).models or {}) do
    local able = false
    for _, method in ipairs(model.supportedGenerationMethods or { "generateContent" }) do
      able = able or method == "generateContent"
    end
    if able then
      names[#names + 1] = (model.name:gsub("^models/", ""))
    end
  end
  return names
end
