import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Wire } from "../chat-bodies.ts";
import { UPSTREAM_MODEL_ID } from "../mock-answers.ts";
import type { TargetStart } from "./target.ts";

/** Model ids a client names, one per wire of the mock's endpoint. */
export const MODEL_ID: Readonly<Record<Wire, string>> = {
  wire_a: "bench/wire-a",
  wire_b: "bench/wire-b",
};

export interface GatewayFiles {
  readonly dataFolder: string;
  readonly manifestFolder: string;
  readonly configFile: string;
}

// The default limits would refuse the load, and what is measured is the cost of checking them.
const CONFIG = `limits:
  org_requests_per_minute: 100000000
  key_requests_per_minute: 100000000
  tokens_per_minute: 100000000000
  concurrent_requests: 100000
  refusals_rpm: 1000000
  unfunded_requests_per_minute: 1000000
unusual_use:
  refused_requests: 0
  error_percent: 0
`;

/** Writes what the gateway is started with: limits out of the way, two priced models on the mock. */
export function writeGatewayFiles(start: TargetStart): GatewayFiles {
  const dataFolder = join(start.folder, "data");
  const manifestFolder = join(start.folder, "manifests");
  const configFile = join(start.folder, "tokenmarket.yaml");
  mkdirSync(dataFolder);
  mkdirSync(manifestFolder);
  writeFileSync(configFile, CONFIG);
  for (const wire of ["wire_a", "wire_b"] as const) {
    const file = join(manifestFolder, `bench-${wire.replace("_", "-")}.json`);
    writeFileSync(file, JSON.stringify(manifest(wire, start.mockPort), null, 2));
  }
  return { dataFolder, manifestFolder, configFile };
}

function manifest(wire: Wire, mockPort: number): object {
  const name = `bench-${wire.replace("_", "-")}`;
  return {
    manifest_version: "1",
    provider: {
      id: name,
      name: `Bench mock (${wire})`,
      privacy_policy_url: "http://127.0.0.1/privacy",
      prompt_logging: "none",
    },
    endpoint: { base_url: `http://127.0.0.1:${mockPort}/v1`, dialect: wire },
    settlement: { mode: "prepaid", interval: "monthly" },
    models: [model(wire)],
  };
}

function model(wire: Wire): object {
  return {
    id: MODEL_ID[wire],
    upstream_id: UPSTREAM_MODEL_ID[wire],
    display_name: `Bench model (${wire})`,
    context_length: 1_000_000,
    max_output_tokens: 8_192,
    input_modalities: ["text", "image"],
    streaming: true,
    pricing: [
      { type: "prompt", unit: "token", cost_usd_per_million: "1.00" },
      { type: "cached_prompt", unit: "token", cost_usd_per_million: "0.10" },
      { type: "completion", unit: "token", cost_usd_per_million: "2.00" },
    ],
  };
}
