-- OpenAI: https://api.openai.com/v1
--
-- The library `openai` has the requests and answers of this kind of API; what a source does otherwise is a quirk, which
-- an option of the source overrides (docs/adapters.md lists them).
local QUIRKS = {
  max_tokens_field = "max_completion_tokens", -- its reasoning models know no other
  system_role = "developer",
  reasoning = "strip", -- it sends none, and refuses the field
  temperature = "omit", -- its reasoning models refuse any but their own
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
