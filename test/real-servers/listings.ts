import { LITELLM_MODELS, MOCK_MODEL, type RunningServer, TINY_MODEL } from "./servers.ts";

type ServerName = "llama-cpp-python" | "llama-cpp-python, set up" | "LiteLLM" | "aimock";

/** One model on one wire of a server; each listing has a manifest and a conformance run. */
export interface RealListing {
  readonly server: ServerName;
  readonly id: string;
  readonly title: string;
  readonly dialect: "wire_a" | "wire_b";
  readonly upstreamId: string;
  readonly hasTools: boolean;
}

type Row = readonly [
  server: ServerName,
  id: string,
  what: string,
  dialect: RealListing["dialect"],
  upstreamId: string,
  hasTools: boolean,
];

const { mockChat, mockMessages, relayed } = LITELLM_MODELS;
const RELAY = "LiteLLM in front of llama-cpp-python";

const ROWS: readonly Row[] = [
  ["llama-cpp-python", "llama", "llama-cpp-python", "wire_a", TINY_MODEL, false],
  [
    "llama-cpp-python, set up",
    "llama-set-up",
    "llama-cpp-python set up",
    "wire_a",
    TINY_MODEL,
    false,
  ],
  ["LiteLLM", "litellm-mock-chat", "LiteLLM mock", "wire_a", mockChat, true],
  ["LiteLLM", "litellm-mock-messages", "LiteLLM mock", "wire_b", mockMessages, true],
  ["LiteLLM", "litellm-relay-chat", RELAY, "wire_a", relayed, false],
  ["LiteLLM", "litellm-relay-messages", RELAY, "wire_b", relayed, false],
  ["aimock", "aimock-chat", "aimock", "wire_a", MOCK_MODEL, true],
  ["aimock", "aimock-messages", "aimock", "wire_b", MOCK_MODEL, true],
];

export const LISTINGS: readonly RealListing[] = ROWS.map(
  ([server, id, what, dialect, upstreamId, hasTools]) => {
    const title = `${what}, ${dialect === "wire_a" ? "chat completions" : "messages"}`;
    return { server, id, title, dialect, upstreamId, hasTools };
  },
);

export const KEY_VARIABLE = "REAL_SERVER_KEY";

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
