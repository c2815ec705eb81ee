-- Ollama's own API: http://127.0.0.1:11434
--
-- Arguments are objects on this wire, calls have no ids, the answer comes as lines of JSON, and the window must be asked
-- for: what does not fit into the server's own is cut off without a word.

local function assistant_of(m)
  local out = { role = "assistant", content = m.text }
  if #m.calls == 0 then
    return out
  end
  out.tool_calls = json.array({})
  for _, call in ipairs(m.calls) do
    local called = { name = util.tool_name(call.name), arguments = call.arguments }
    table.insert(out.tool_calls, { ["function"] = called })
  end
  if m.reasoning and m.own then
    out.thinking = m.reasoning
  end
  return out
end

local function message_of(m)
  if m.role == "assistant" then
    return assistant_of(m)
  elseif m.role == "tool" then
    return { role = "tool", content = m.text, tool_name = util.tool_name(m.name) }
  end
  local out = { role = m.role, content = m.text }
  for _, image in ipairs(m.images or {}) do
    out.images = out.images or json.array({})
    table.insert(out.images, image.data)
  end
  return out
end

local THINK = { on = true, off = false }

function transform_request(request, source)
  local window = util.option(source, "num_ctx", 0)
  local options = { num_ctx = window > 0 and window or source.context_window }
  local limit = request.max_tokens or util.option(source, "max_tokens", 0)
  options.num_predict = limit > 0 and limit or nil
  if util.option(source, "temperature", "send") == "send" then
    options.temperature = request.temperature
  end
  local body = { model = source.model, messages = json.array({}), options = options }
  body.stream = util.option(source, "stream", true)
  for _, m in ipairs(request.messages) do
    table.insert(body.messages, message_of(m))
  end
  for _, tool in ipairs(request.tools or {}) do
    body.tools = body.tools or json.array({})
    local declared = { name = tool.name, description = tool.description, parameters = tool.parameters }
    table.insert(body.tools, { type = "function", ["function"] = declared })
  end
  local think = util.option(source, "think", "auto")
  if think ~= "auto" then
    body.think = THINK[think]
    if body.think == nil then
      body.think = think
    end
  end
  local kept = util.option(source, "keep_alive", "")
  if kept ~= "" then
    body.keep_alive = kept:match("^%-?%d+$") and math.tointeger(tonumber(kept)) or kept
  end
  local base = util.base(source, "/chat", "/api", "/v1")
  return { url = base .. "/api/chat", body = util.with_extra(body, source), framing = "ndjson" }
end

local function usage_of(chunk)
  return { type = "usage", prompt = chunk.prompt_eval_count, completion = chunk.eval_count }
end

local function read(parts, chunk, state)
  if type(chunk) ~= "table" or json.is_array(chunk) then
    error({ kind = "unreadable", message = "it is not a JSON object" })
  end
  if util.given(chunk.error) then
    table.insert(parts, { type = "error", body = chunk })
    return
  end
  local said = type(chunk.message) == "table" and chunk.message or {}
  table.insert(parts, { type = "reasoning", text = said.thinking })
  table.insert(parts, { type = "content", text = said.content })
  for _, call in ipairs(type(said.tool_calls) == "table" and said.tool_calls or {}) do
    local called = type(call["function"]) == "table" and call["function"] or {}
    state.calls = (state.calls or 0) + 1
    local arguments = util.given(called.arguments) and called.arguments or {}
    table.insert(parts, {
      type = "call", index = state.calls - 1, id = call.id, name = called.name, arguments = arguments,
    })
  end
  if chunk.done == true then
    local reason = type(chunk.done_reason) == "string" and chunk.done_reason ~= "" and chunk.done_reason or "stop"
    table.insert(parts, usage_of(chunk))
    table.insert(parts, { type = "done", reason = state.calls and reason == "stop" and "tool_calls" or reason })
  end
end

function transform_stream_chunk(chunk, state)
  local parts = {}
  if chunk then
    read(parts, json.decode(chunk, true), state)
  end
  return parts
end

function transform_response(body, state)
  local parts = {}
  read(parts, json.decode(body, true), state)
  return parts
end

-- The models on the server, by its answer to GET /api/tags.
function models(body)
  local names = {}
  for _, model in ipairs(json.decode(body).models or {}) do
    names[#names + 1] = model.name
  end
  return names
end
