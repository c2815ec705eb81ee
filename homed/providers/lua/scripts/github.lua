-- GitHub Models: https://models.github.ai/inference
--
-- The key is a token of GitHub's with the right to use models; a model is named like openai/gpt-4.1-mini.
local QUIRKS = {
  reasoning = "strip",
}

function transform_request(request, source)
  return openai.request(request, source, QUIRKS)
end

function build_headers(source)
  return { Authorization = "Bearer {api_key}", ["X-GitHub-Api-Version"] = "2022-11-28" }
end

function transform_response(body, state)
  return openai.response(body, state)
end

function transform_stream_chunk(chunk, state)
  return openai.chunk(chunk, state)
end

-- The catalogue of its models is a list, not an object with one.
function models(body)
  local names = {}
  for _, model in ipairs(json.decode(body)) do
    names[#names + 1] = model.id
  end
  return names
end
