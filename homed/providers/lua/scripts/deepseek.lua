-- DeepSeek: https://api.deepseek.com/v1
--
-- In thinking mode a message that called tools must bring its `reasoning_content` back, or the request is refused;
-- older deepseek-reasoner models refuse the field instead.  So it is an option of the source: reasoning = echo, strip
-- or auto (only what it had sent itself).
local QUIRKS = {
  reasoning = "echo",
  merge_same_role = true, -- its reasoning models want turns to alternate
}

function transform_request(request, source)
  return openai.request(request, source, QUIRKS)
end

function transform_response(body, state)
  return openai.response(body, state)
end

function transform_stream_chunk(chunk, state)
  return openai.chunk(chunk, state)
end

function models(body)
  return openai.models(body)
end
