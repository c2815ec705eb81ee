-- OpenAI's chat completions, for the scripts of everything that speaks them: `openai.request(request, source, quirks)`,
-- `openai.response(body, state)`, `openai.chunk(chunk, state)` and `openai.models(body)`.  `quirks` are what a source
-- does unless its options say otherwise; see docs/adapters.md for their names.
local openai = {}

local FORMATS = { ["audio/wav"] = "wav", ["audio/mpeg"] = "mp3" }

-- Requests ----------------------------------------------------------------------------------------------------------

local function content_of(m)
  if not m.images and not m.audio then
    return m.text
  end
  local parts = json.array({})
  if m.text ~= "" then
    table.insert(parts, { type = "text", text = m.text })
  end
  for _, image in ipairs(m.images or {}) do
    local url = "data:" .. image.media_type .. ";base64," .. image.data
    table.insert(parts, { type = "image_url", image_url = { url = url } })
  end
  for _, audio in ipairs(m.audio or {}) do
    local format = FORMATS[audio.media_type] or "wav"
    table.insert(parts, { type = "input_audio", input_audio = { data = audio.data, format = format } })
  end
  return parts
end

local function assistant_of(m, option, ids)
  local out = { role = "assistant", content = m.text }
  if #m.calls == 0 then
    return out
  end
  if m.text == "" then
    local empty = option("empty_content", "null")
    out.content = (empty == "null" and json.null) or (empty == "empty" and "") or nil
  end
  out.tool_calls = json.array({})
  for _, call in ipairs(m.calls) do
    local called = { name = util.tool_name(call.name), arguments = json.encode(call.arguments) }
    table.insert(out.tool_calls, { id = ids.called(call.id), type = "function", ["function"] = called })
  end
  local how = option("reasoning", "auto")
  if how == "echo" or (how == "auto" and m.reasoning and m.own) then
    out.reasoning_content = m.reasoning or ""
  end
  return out
end

local function message_of(m, option, ids)
  if m.role == "system" then
    return { role = option("system_role", "system"), content = m.text }
  elseif m.role == "user" then
    return { role = "user", content = content_of(m) }
  elseif m.role == "assistant" then
    return assistant_of(m, option, ids)
  end
  local name = option("result_names", false) and util.tool_name(m.name) or nil
  return { role = "tool", tool_call_id = ids.answered(m.call_id), content = m.text, name = name }
end

local function parts_of(content)
  if type(content) == "table" then
    return content
  end
  return (content == nil or content == "") and {} or { { type = "text", text = content } }
end

local function joined(first, second)
  first, second = first ~= json.null and first or nil, second ~= json.null and second or nil
  if type(first) == "table" or type(second) == "table" then
    local all = json.array({})
    for _, from in ipairs({ parts_of(first), parts_of(second) }) do
      for _, part in ipairs(from) do
        table.insert(all, part)
      end
    end
    return all
  end
  local between = (first or "") ~= "" and (second or "") ~= "" and "\n\n" or ""
  return (first or "") .. between .. (second or "")
end

-- Turns that alternate, the first the person's; results stay apart, each with its call.
local function alternating(messages)
  local out, begun = json.array({}), false
  for _, m in ipairs(messages) do
    local before = out[#out]
    if before and m.role == before.role and m.role ~= "tool" and not before.tool_calls then
      m.content = joined(before.content, m.content)
      out[#out] = m
    else
      if m.role == "assistant" and not begun then
        table.insert(out, { role = "user", content = util.CUT_OFF })
        begun = true
      end
      table.insert(out, m)
    end
    begun = begun or m.role == "user"
  end
  return out
end

local function messages_of(messages, option)
  local ids = util.ids(option("call_ids", "any") == "nine")
  local out = json.array({})
  for _, m in ipairs(messages) do
    if m.role == "user" and #out > 0 and out[#out].role == "tool" and not option("user_after_tool", true) then
      table.insert(out, { role = "assistant", content = util.BRIDGE })
    end
    table.insert(out, message_of(m, option, ids))
  end
  return option("merge_same_role", false) and alternating(out) or out
end

function openai.request(request, source, quirks)
  local function option(name, default)
    local value = util.option(source, name, quirks and quirks[name])
    if value == nil then
      return default
    end
    return value
  end
  local body = { model = source.model, messages = messages_of(request.messages, option) }
  if request.tools then
    body.tools = json.array({})
    for _, tool in ipairs(request.tools) do
      local declared = { name = tool.name, description = tool.description, parameters = tool.parameters }
      table.insert(body.tools, { type = "function", ["function"] = declared })
    end
  end
  local limit = request.max_tokens or option("max_tokens", 0)
  if limit > 0 then
    body[option("max_tokens_field", "max_tokens")] = limit
  end
  if request.temperature and option("temperature", "send") == "send" then
    body.temperature = request.temperature
  end
  if option("reasoning_effort", "") ~= "" then
    body.reasoning_effort = option("reasoning_effort")
  end
  if option("stream", true) then
    body.stream = true
    if option("stream_usage", true) then
      body.stream_options = { include_usage = true }
    end
  end
  return { url = util.base(source, "/chat/completions") .. "/chat/completions", body = util.with_extra(body, source) }
end

-- Answers -----------------------------------------------------------------------------------------------------------

local function usage_of(usage)
  local details = usage.prompt_tokens_details
  local cached = type(details) == "table" and tonumber(details.cached_tokens) or 0
  if cached == 0 then
    cached = usage.prompt_cache_hit_tokens
  end
  return { type = "usage", prompt = usage.prompt_tokens, completion = usage.completion_tokens, cached = cached }
end

-- The texts of that kind in content that comes in parts, as some reasoning models send it.
local function texts_in(content, kind)
  local texts = {}
  for _, part in ipairs(content) do
    if type(part) == "table" and part.type == kind then
      local inner = part[kind]
      if type(inner) == "table" then
        inner = texts_in(inner, "text")
      end
      texts[#texts + 1] = type(inner) == "string" and inner or ""
    end
  end
  return table.concat(texts)
end

local function text(parts, kind, said)
  if type(said) == "string" and said ~= "" then
    table.insert(parts, { type = kind, text = said })
  end
end

local function said_in(parts, said)
  local content = said.content
  local thought = util.text(said.reasoning_content)
  thought = thought ~= "" and thought or util.text(said.reasoning)
  if type(content) == "table" then
    thought = thought ~= "" and thought or texts_in(content, "thinking")
    content = texts_in(content, "text")
  end
  text(parts, "reasoning", thought)
  text(parts, "content", content)
  text(parts, "content", said.refusal)
  for _, call in ipairs(type(said.tool_calls) == "table" and said.tool_calls or {}) do
    local called = type(call["function"]) == "table" and call["function"] or {}
    table.insert(parts, {
      type = "call", index = call.index, id = call.id, name = called.name, arguments = called.arguments,
    })
  end
end

local function read(parts, chunk, state, holder)
  if type(chunk) ~= "table" then
    error({ kind = "unreadable", message = "it is not a JSON object" })
  end
  if util.given(chunk.error) then
    table.insert(parts, { type = "error", body = chunk })
    return
  end
  if type(chunk.usage) == "table" then
    table.insert(parts, usage_of(chunk.usage))
  end
  local choice = type(chunk.choices) == "table" and chunk.choices[1]
  if type(choice) ~= "table" then
    return
  end
  for _, one in ipairs({ holder, "message", "delta" }) do
    if type(choice[one]) == "table" and choice[one] ~= json.null then
      said_in(parts, choice[one])
      break
    end
  end
  if type(choice.finish_reason) == "string" and choice.finish_reason ~= "" then
    state.reason = choice.finish_reason
  end
end

function openai.chunk(chunk, state)
  local parts = {}
  if chunk == nil or chunk:match("^%s*%[DONE%]%s*$") then
    if chunk or state.reason then
      parts[1] = { type = "done", reason = state.reason or "stop" }
    end
    return parts
  end
  read(parts, json.decode(chunk, true), state, "delta")
  return parts
end

function openai.response(body, state)
  local parts = {}
  read(parts, json.decode(body, true), state, "message")
  table.insert(parts, { type = "done", reason = state.reason or "stop" })
  return parts
end

-- The models a source has, by its answer to GET /models.
function openai.models(body)
  local names = {}
  for _, model in ipairs(json.decode(body).data or {}) do
    names[#names + 1] = model.id
  end
  return names
end

return openai
