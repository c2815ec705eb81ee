-- Groq: https://api.groq.com/openai/v1
--
-- Thinking comes as `reasoning`; the library reads that too.
local QUIRKS = {
  max_tokens_field = "max_completion_tokens",
  reasoning = "strip",
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
