-- Mistral: https://api.mistral.ai/v1
--
-- Thinking comes as parts of the content; the library reads those too.
local QUIRKS = {
  call_ids = "nine", -- nine letters and digits, or the request is refused
  stream_usage = false, -- it refuses `stream_options` and counts without being asked
  user_after_tool = false, -- no person's word right behind a result
  merge_same_role = true,
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
