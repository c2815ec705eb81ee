-- Anthropic's Messages API: https://api.anthropic.com
--
-- Thinking is signed: it goes back block for block as it came, in its place between texts and calls, or not at all.
-- Each block is kept in the message's opaque part, a list of blocks as they came, of { t = characters of the text } and
-- of { c = id of the call }.  The native adapter keeps the same, so a conversation can change from one to the other.
local WIRE = "anthropic"
local MOST, LEFT = 8192, 1024 -- tokens of an answer: when nothing is said, and beside those for thinking
local LEAST = 1024 -- the API takes no smaller budget for thinking

local REASONS = {
  end_turn = "stop", stop_sequence = "stop", pause_turn = "stop", max_tokens = "length",
  model_context_window_exceeded = "length", tool_use = "tool_calls",
}

-- Requests ----------------------------------------------------------------------------------------------------------

local function text_block(text)
  return { type = "text", text = text }
end

local function is_thinking(block)
  return block.type == "thinking" or block.type == "redacted_thinking"
end

-- The blocks of a message as they came, with calls only named; nil if none were kept or they do not fit any more.
local function laid_out(m)
  if not m.opaque or m.opaque.wire ~= WIRE then
    return nil
  end
  local fine, layout = pcall(json.decode, m.opaque.data, true)
  if not fine or not json.is_array(layout) then
    return nil
  end
  local out, at, calls = {}, 1, 0
  for _, part in ipairs(layout) do
    if math.type(part.t) == "integer" then
      local piece, behind = util.take(m.text, at, part.t)
      if not piece then
        return nil
      end
      at = behind
      if not util.blank(piece) then
        table.insert(out, text_block(piece))
      end
    elseif type(part.c) == "string" then
      calls = calls + 1
      if not m.calls[calls] or m.calls[calls].id ~= part.c then
        return nil
      end
      table.insert(out, { call = m.calls[calls] })
    elseif is_thinking(part) then
      table.insert(out, part)
    else
      return nil
    end
  end
  local whole = at == #m.text + 1 and calls == #m.calls
  return whole and #out > 0 and out or nil
end

local function assistant_blocks(m, keep, ids)
  local blocks = keep and laid_out(m)
  if not blocks then
    blocks = {}
    if not util.blank(m.text) then
      table.insert(blocks, text_block(m.text))
    end
    for _, call in ipairs(m.calls) do
      table.insert(blocks, { call = call })
    end
  end
  for at, block in ipairs(blocks) do
    local call = block.call
    if call then
      blocks[at] = { type = "tool_use", id = ids.called(call.id), name = util.tool_name(call.name), input = call.arguments }
    end
  end
  return blocks
end

local function user_blocks(m)
  local blocks = {}
  if not util.blank(m.text) then
    table.insert(blocks, text_block(m.text))
  end
  for _, image in ipairs(m.images or {}) do
    local from = { type = "base64", media_type = image.media_type, data = image.data }
    table.insert(blocks, { type = "image", source = from })
  end
  return blocks
end

local function blocks_of(m, keep, ids)
  if m.role == "user" then
    return "user", user_blocks(m)
  elseif m.role == "assistant" then
    return "assistant", assistant_blocks(m, keep, ids)
  elseif m.role == "tool" then
    local result = { type = "tool_result", tool_use_id = ids.answered(m.call_id), content = m.text }
    result.is_error = m.is_error or nil
    return "user", { result }
  end
  return "", {}
end

-- Turns that alternate, the first and the last the person's, none empty.
local function turns_of(messages, keep)
  local turns, ids = json.array({}), util.ids()
  for _, m in ipairs(messages) do
    local role, blocks = blocks_of(m, keep, ids)
    if #blocks > 0 then
      if #turns == 0 and role == "assistant" then
        table.insert(turns, { role = "user", content = json.array({ text_block(util.CUT_OFF) }) })
      end
      local last = turns[#turns]
      if not last or last.role ~= role then
        last = { role = role, content = json.array({}) }
        table.insert(turns, last)
      end
      for _, block in ipairs(blocks) do
        table.insert(last.content, block)
      end
    end
  end
  if #turns == 0 or turns[#turns].role == "assistant" then
    table.insert(turns, { role = "user", content = json.array({ text_block(util.GO_ON) }) })
  end
  return turns
end

-- Tokens of the answer, and of these for thinking (0: none).  What the request or the source says holds for both
-- together: thinking is paid for as any other word is, and gets what an answer leaves of it.
local function limits_of(source, request)
  local how = util.option(source, "thinking", "off")
  local budget = math.type(how) == "integer" and how or 0
  local limit = request.max_tokens or util.option(source, "max_tokens", 0)
  if limit == 0 then
    limit = math.min(math.max(MOST, budget + LEFT), math.max(1, source.context_window // 2))
  end
  if budget <= limit - LEFT then
    return limit, budget
  end
  return limit, limit - LEFT >= LEAST and limit - LEFT or 0
end

-- What is asked for; nothing leaves it to the model.
local function thinking_of(source, budget)
  if util.option(source, "thinking", "off") == "adaptive" then
    return { type = "adaptive" }
  end
  return budget > 0 and { type = "enabled", budget_tokens = budget } or nil
end

-- Whether it can be asked for: results go out only behind calls that began with thinking, if it is by budget.
local function may_think(turns, thinking)
  local last, before = turns[#turns].content[1], #turns > 1 and turns[#turns - 1].content[1] or {}
  return thinking.type ~= "enabled" or last.type ~= "tool_result" or is_thinking(before)
end

-- At the top the API takes no alternatives; homed checks the arguments against the whole schema anyway.
local function schema_of(parameters)
  local schema = json.copy(parameters)
  schema.anyOf, schema.oneOf, schema.allOf = nil, nil, nil
  return schema
end

local function tools_of(request, body)
  if request.tools then
    body.tools = json.array({})
    for _, tool in ipairs(request.tools) do
      table.insert(body.tools, {
        name = tool.name, description = tool.description, input_schema = schema_of(tool.parameters),
      })
    end
    return
  end
  -- With calls in the history the API wants some tools; where none are on offer now, those.
  local known = {}
  for _, m in ipairs(request.messages) do
    for _, call in ipairs(m.calls or {}) do
      local name = util.tool_name(call.name)
      if not known[name] then
        known[name] = true
        body.tools = body.tools or json.array({})
        local schema = { type = "object", properties = {} }
        table.insert(body.tools, { name = name, description = "Not available now.", input_schema = schema })
      end
    end
  end
  if body.tools then
    body.tool_choice = { type = "none" }
  end
end

-- Ask for the prompt to be kept up to the tools, the instructions, and the last thing that the person's turn says.
local function mark(body, kept)
  local last = body.messages[#body.messages].content
  for _, list in ipairs({ body.tools or {}, body.system or {}, last }) do
    if #list > 0 then
      local marked = json.copy(list[#list])
      marked.cache_control = { type = "ephemeral", ttl = kept ~= "5m" and kept or nil }
      list[#list] = marked
    end
  end
end

function transform_request(request, source)
  local limit, budget = limits_of(source, request)
  local thinking, turns = thinking_of(source, budget), turns_of(request.messages, true)
  local wanted = util.option(source, "thinking", "off") ~= "off"
  if wanted and not (thinking and may_think(turns, thinking)) then
    thinking, turns = nil, turns_of(request.messages, false)
  end
  local body = { model = source.model, max_tokens = limit, messages = turns }
  local system = util.system_of(request.messages)
  if system ~= "" then
    body.system = json.array({ text_block(system) })
  end
  tools_of(request, body)
  if thinking then
    body.thinking = thinking
  elseif request.temperature and util.option(source, "temperature", "send") == "send"
    and util.option(source, "version", "2023-06-01") < "2026-10-21" then  -- later versions of the API have none
    body.temperature = math.min(request.temperature, 1.0)
  end
  local effort = util.option(source, "effort", "")
  if effort ~= "" then
    body.output_config = { effort = effort }
  end
  if util.option(source, "stream", true) then
    body.stream = true
  end
  local kept = util.option(source, "cache", "5m")
  if kept ~= "off" then
    mark(body, kept)
  end
  local base = util.base(source, "/messages")
  base = base:match("/v1$") and base or base .. "/v1"
  return { url = base .. "/messages", body = util.with_extra(body, source) }
end

function build_headers(source)
  local betas = util.option(source, "betas", "")
  return {
    ["x-api-key"] = "{api_key}",
    ["anthropic-version"] = util.option(source, "version", "2023-06-01"),
    ["anthropic-beta"] = betas ~= "" and betas or nil,
  }
end

-- Answers -----------------------------------------------------------------------------------------------------------

local function count(state, usage)
  if type(usage) ~= "table" then
    return
  end
  state.counted = state.counted or {}
  for _, name in ipairs({ "input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens" }) do
    -- Later counts are of the whole so far, and need not repeat what was said before.
    state.counted[name] = math.max(tonumber(usage[name]) or 0, state.counted[name] or 0)
  end
end

local function start(parts, state, index, block)
  if type(block) ~= "table" then
    return
  end
  local known = { kind = block.type, began = block, length = 0, thought = {}, signature = "" }
  state.blocks = state.blocks or {}
  state.blocks[index] = known
  if block.type == "text" then
    known.length = util.length(util.text(block.text))
    table.insert(parts, { type = "content", text = block.text })
  elseif block.type == "thinking" then
    table.insert(known.thought, util.text(block.thinking))
    known.signature = util.text(block.signature)
    table.insert(parts, { type = "reasoning", text = block.thinking })
  elseif block.type == "tool_use" then
    state.ids = state.ids or {}
    local id = block.id
    if type(id) ~= "string" or id == "" or state.ids[id] then
      id = util.new_id()
    end
    state.ids[id] = true
    state.calls = (state.calls or -1) + 1
    known.id, known.place = id, state.calls
    -- A stream begins with an empty object and sends the arguments behind it; a whole answer has them here.
    local given = type(block.input) == "table" and next(block.input) ~= nil and block.input or nil
    table.insert(parts, { type = "call", index = known.place, id = id, name = block.name, arguments = given })
  end
end

local function more(parts, known, delta)
  if not known or type(delta) ~= "table" then
    return
  end
  if delta.type == "text_delta" then
    known.length = known.length + util.length(util.text(delta.text))
    table.insert(parts, { type = "content", text = delta.text })
  elseif delta.type == "thinking_delta" then
    table.insert(known.thought, util.text(delta.thinking))
    table.insert(parts, { type = "reasoning", text = delta.thinking })
  elseif delta.type == "signature_delta" then
    known.signature = known.signature .. util.text(delta.signature)
  elseif delta.type == "input_json_delta" and known.place then
    table.insert(parts, { type = "call", index = known.place, arguments = delta.partial_json })
  end
end

local function stop(parts, state, reason)
  if type(reason) ~= "string" or reason == "" then
    return
  end
  if reason == "refusal" then
    local refused = { type = "refusal", message = "the model declined to answer this" }
    table.insert(parts, { type = "error", body = { error = refused } })
  end
  state.reason = REASONS[reason] or reason
end

-- The blocks as `laid_out` reads them.
local function layout_of(state)
  local layout, thought, order = json.array({}), false, {}
  for index in pairs(state.blocks or {}) do
    table.insert(order, index)
  end
  table.sort(order)
  for _, index in ipairs(order) do
    local known = state.blocks[index]
    local kind = known.kind
    if kind == "text" and known.length > 0 then
      table.insert(layout, { t = known.length })
    elseif kind == "tool_use" then
      table.insert(layout, { c = known.id })
    elseif kind == "thinking" then
      known.began.thinking, known.began.signature = table.concat(known.thought), known.signature
      table.insert(layout, known.began)
      thought = true
    elseif kind == "redacted_thinking" then
      table.insert(layout, known.began)
      thought = true
    end
  end
  return thought and layout or nil
end

local function finish(parts, state)
  local counted = state.counted
  if counted then
    -- What was read is three numbers here, each token in one of them.
    local cached = counted.cache_read_input_tokens
    local prompt = counted.input_tokens + counted.cache_creation_input_tokens + cached
    table.insert(parts, { type = "usage", prompt = prompt, cached = cached, completion = counted.output_tokens })
  end
  local layout = layout_of(state)
  if layout then
    table.insert(parts, { type = "opaque", wire = WIRE, data = layout })
  end
  table.insert(parts, { type = "done", reason = state.reason or "stop" })
end

local function whole(parts, data, state)
  count(state, data.usage)
  for at, block in ipairs(type(data.content) == "table" and data.content or {}) do
    start(parts, state, at - 1, block)
  end
  stop(parts, state, data.stop_reason)
  finish(parts, state)
end

local function read(parts, data, state)
  if type(data) ~= "table" or json.is_array(data) then
    error({ kind = "unreadable", message = "it is not a JSON object" })
  end
  local index = math.type(data.index) == "integer" and data.index or 0
  if data.type == "error" or util.given(data.error) then
    table.insert(parts, { type = "error", body = data })
  elseif data.type == "message" then
    whole(parts, data, state)
  elseif data.type == "message_start" then
    count(state, type(data.message) == "table" and data.message.usage)
  elseif data.type == "content_block_start" then
    start(parts, state, index, data.content_block)
  elseif data.type == "content_block_delta" then
    more(parts, (state.blocks or {})[index], data.delta)
  elseif data.type == "message_delta" then
    count(state, data.usage)
    stop(parts, state, type(data.delta) == "table" and data.delta.stop_reason)
  elseif data.type == "message_stop" then
    finish(parts, state)
  end
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

function transform_response(body, state)
  local parts = {}
  read(parts, json.decode(body, true), state)
  return parts
end

function models(body)
  return openai.models(body)
end
