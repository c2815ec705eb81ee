-- OpenAI's API: https://api.openai.com/v1.  Everything it needs to know is in the library `openai`, which has the
-- requests and answers of this kind of API; what a source does otherwise is said as a quirk or an option.
local QUIRKS = { max_tokens_field = "max_completion_tokens" }

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
