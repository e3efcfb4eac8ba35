import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { text as readText } from "node:stream/consumers";

/** Answers a request to a simulated server; undefined stands for a 404. */
export type PlayedAnswer = (request: PlayedRequest) => Played | undefined;

export interface Played {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: unknown;
}

export interface PlayedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: Readonly<Record<string, unknown>>;
}

export function modelServer(answer: PlayedAnswer, seen: PlayedRequest[] = []): Server {
  return createServer((request, response) => void serve(request, response));

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const sent = await readText(request);
    const played: PlayedRequest = {
      method: request.method ?? "",
      path: request.url ?? "",
      headers: request.headers,
      body: sent === "" ? {} : (JSON.parse(sent) as Record<string, unknown>),
    };
    seen.push(played);
    const { status = 200, headers = {}, body } = answer(played) ?? { status: 404, body: {} };
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  }
}

export const chatAnswers: PlayedAnswer = ({ path, body }) => {
  const model = String(body["model"]);
  if (path.endsWith("/chat/completions")) {
    return {
      body: {
        id: "chatcmpl-1",
        object: "chat.completion",
        created: 1_760_000_000,
        model,
        choices: [
          { index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "length" },
        ],
        usage: { prompt_tokens: 9, completion_tokens: 1, total_tokens: 10 },
      },
    };
  }
  if (!path.endsWith("/messages")) return undefined;
  return {
    body: {
      id: "msg_1",
      type: "message",
      role: "assistant",
      model,
      content: [{ type: "text", text: "Hi" }],
      stop_reason: "max_tokens",
      stop_sequence: null,
      usage: { input_tokens: 9, output_tokens: 1 },
    },
  };
};

/** Answers as vLLM's documentation of its OpenAI-compatible server says. */
export const vllm: PlayedAnswer = (request) => {
  if (request.path !== "/v1/models") return chatAnswers(request);
  const id = "Qwen/Qwen3-8B";
  const permission = [{ id: "modelperm-1", object: "model_permission", allow_sampling: true }];
  const more = { root: id, parent: null, max_model_len: 40_960, permission };
  return { body: listOf({ id, created: 1_760_000_000, owned_by: "vllm", ...more }) };
};

function listOf(...models: readonly object[]): object {
  return { object: "list", data: models.map((model) => ({ object: "model", ...model })) };
}

/** llama.cpp's server, by its README: a model trained for 131,072 tokens and served with 65,536. */
export const llamaCpp: PlayedAnswer = (request) => {
  if (request.path === "/v1/models") {
    const meta = { vocab_type: 2, n_vocab: 128_256, n_ctx_train: 131_072, n_embd: 4_096 };
    return { body: listOf({ id: "qwen3-4b", created: 1, owned_by: "llamacpp", meta }) };
  }
  if (request.path === "/props") {
    return {
      body: {
        default_generation_settings: { n_ctx: 65_536 },
        total_slots: 4,
        modalities: { vision: true, audio: false },
        chat_template_caps: { supports_tools: true },
      },
    };
  }
  return chatAnswers(request);
};

const OLLAMA_MODELS: Readonly<Record<string, object>> = {
  "qwen3:8b": {
    parameters: 'num_ctx                        16384\nstop                           "<|im_end|>"',
    details: { format: "gguf", family: "qwen3", quantization_level: "Q4_K_M" },
    model_info: { "general.architecture": "qwen3", "qwen3.context_length": 40_960 },
    capabilities: ["completion", "tools", "thinking"],
  },
  "llava:latest": {
    details: { format: "gguf", family: "llama", quantization_level: "Q4_0" },
    model_info: { "general.architecture": "llama", "llama.context_length": 32_768 },
    capabilities: ["completion", "vision"],
  },
  "nomic-embed-text:latest": {
    details: { format: "gguf", family: "nomic-bert", quantization_level: "F16" },
    model_info: { "general.architecture": "nomic-bert", "nomic-bert.context_length": 2_048 },
    capabilities: ["embedding"],
  },
  "gpt-oss:120b-cloud": {
    remote_model: "gpt-oss:120b",
    remote_host: "https://ollama.com:443",
    details: { format: "", family: "gptoss", quantization_level: "MXFP4" },
    model_info: { "general.architecture": "gptoss", "gptoss.context_length": 131_072 },
    capabilities: ["completion", "tools"],
  },
};

/** Ollama, by its API documentation. `/api/show` does not know the last of its models. */
export const ollama: PlayedAnswer = (request) => {
  const { path, body } = request;
  const names = [...Object.keys(OLLAMA_MODELS), "qwen3:0.6b"];
  if (path === "/v1/models") {
    return { body: listOf(...names.map((id) => ({ id, created: 1, owned_by: "library" }))) };
  }
  if (path === "/api/tags")
    return { body: { models: names.map((name) => ({ name, model: name })) } };
  if (path === "/api/show") {
    const shown = OLLAMA_MODELS[String(body["model"])];
    return shown === undefined
      ? { status: 404, body: { error: "model not found" } }
      : { body: { license: "…", modelfile: "FROM x", template: "{{ .Prompt }}", ...shown } };
  }
  if (path === "/api/ps") {
    const models = [{ name: "qwen3:8b", model: "qwen3:8b", size: 1, context_length: 4_096 }];
    return { body: { models } };
  }
  return chatAnswers(request);
};

/** LM Studio, by the documentation of its own API (v0). */
export const lmStudio: PlayedAnswer = (request) => {
  const ids = ["qwen2-vl-7b-instruct", "meta-llama-3.1-8b-instruct", "text-embedding-nomic-v1.5"];
  if (request.path === "/v1/models") {
    return { body: listOf(...ids.map((id) => ({ id, owned_by: "organization_owner" }))) };
  }
  if (request.path === "/api/v0/models") {
    const base = { compatibility_type: "gguf", state: "not-loaded" };
    const [vision, chat, embeddings] = ids;
    const loaded = { state: "loaded", max_context_length: 131_072, loaded_context_length: 8_192 };
    return {
      body: listOf(
        { ...base, id: vision, type: "vlm", quantization: "4bit", max_context_length: 32_768 },
        { ...base, id: chat, type: "llm", quantization: "Q4_K_M", ...loaded },
        { ...base, id: embeddings, type: "embeddings", max_context_length: 2_048 },
      ),
    };
  }
  return chatAnswers(request);
};
