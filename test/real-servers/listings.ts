import { LITELLM_MODELS, MOCK_MODEL, type RunningServer, TINY_MODEL } from "./servers.ts";

export type ServerName = "llama-cpp-python" | "llama-cpp-python, set up" | "LiteLLM" | "aimock";

/** One model on one wire of a server; each listing has a manifest and a conformance run. */
export interface RealListing {
  readonly server: ServerName;
  /** Unique; also the provider id in its manifest. */
  readonly id: string;
  readonly title: string;
  readonly dialect: "wire_a" | "wire_b";
  readonly upstreamId: string;
  readonly hasTools: boolean;
}

export const LISTINGS: readonly RealListing[] = [
  {
    server: "llama-cpp-python",
    id: "llama",
    title: "llama-cpp-python, chat completions",
    dialect: "wire_a",
    upstreamId: TINY_MODEL,
    hasTools: false,
  },
  {
    server: "llama-cpp-python, set up",
    id: "llama-set-up",
    title: "llama-cpp-python set up, chat completions",
    dialect: "wire_a",
    upstreamId: TINY_MODEL,
    hasTools: false,
  },
  {
    server: "LiteLLM",
    id: "litellm-mock-chat",
    title: "LiteLLM mock, chat completions",
    dialect: "wire_a",
    upstreamId: LITELLM_MODELS.mockChat,
    hasTools: true,
  },
  {
    server: "LiteLLM",
    id: "litellm-mock-messages",
    title: "LiteLLM mock, messages",
    dialect: "wire_b",
    upstreamId: LITELLM_MODELS.mockMessages,
    hasTools: true,
  },
  {
    server: "LiteLLM",
    id: "litellm-relay-chat",
    title: "LiteLLM in front of llama-cpp-python, chat completions",
    dialect: "wire_a",
    upstreamId: LITELLM_MODELS.relayed,
    hasTools: false,
  },
  {
    server: "LiteLLM",
    id: "litellm-relay-messages",
    title: "LiteLLM in front of llama-cpp-python, messages",
    dialect: "wire_b",
    upstreamId: LITELLM_MODELS.relayed,
    hasTools: false,
  },
  {
    server: "aimock",
    id: "aimock-chat",
    title: "aimock, chat completions",
    dialect: "wire_a",
    upstreamId: MOCK_MODEL,
    hasTools: true,
  },
  {
    server: "aimock",
    id: "aimock-messages",
    title: "aimock, messages",
    dialect: "wire_b",
    upstreamId: MOCK_MODEL,
    hasTools: true,
  },
];

/** The environment variable from which the manifests take the key. */
export const KEY_VARIABLE = "REAL_SERVER_KEY";

/** Returns the manifest that the server's provider would write. */
export function manifestOf(listing: RealListing, { port }: Pick<RunningServer, "port">): object {
  const { id, dialect, upstreamId, title, hasTools } = listing;
  // A model of random weights never stops by itself: it fills the output bound every time.
  const outputTokensMax = listing.server === "aimock" || hasTools ? 2048 : 128;
  return {
    manifest_version: "1",
    provider: {
      id,
      name: title,
      privacy_policy_url: "https://example.com/privacy",
      prompt_logging: "none",
    },
    endpoint: {
      base_url: `http://127.0.0.1:${port}/v1`,
      dialect,
      api_key_env: KEY_VARIABLE,
    },
    settlement: { mode: "arrears", interval: "monthly" },
    models: [
      {
        id: `${id}/${upstreamId}`,
        upstream_id: upstreamId,
        display_name: upstreamId,
        context_length: 8192,
        max_output_tokens: outputTokensMax,
        streaming: true,
        supported_parameters: {
          temperature: { type: "range", min: 0, max: dialect === "wire_a" ? 2 : 1, default: 1 },
          max_tokens: { type: "integer", min: 1, max: outputTokensMax, unit: "tokens" },
          stop: { type: "unknown" },
          ...(hasTools ? { tools: { type: "boolean" }, tool_choice: { type: "boolean" } } : {}),
        },
        pricing: [
          { type: "prompt", unit: "token", cost_usd_per_million: "0.5" },
          { type: "completion", unit: "token", cost_usd_per_million: "2" },
        ],
        released: "2026-01-15",
        input_modalities: ["text"],
      },
    ],
  };
}
