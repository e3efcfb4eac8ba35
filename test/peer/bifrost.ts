import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { startServer } from "../support/tethered-program.ts";
import { freePort } from "../support/free-port.ts";
import { UPSTREAM_MODEL_ID } from "../../bench/mock-answers.ts";
import { BIFROST_PROGRAM, BIFROST_VERSION, requirePart, usualEndpoint } from "./peer-files.ts";
import type { Target, TargetStart } from "../../bench/targets/target.ts";

const VIRTUAL_KEY = "sk-bf-bench";
const PROVIDERS = { wire_a: "openai", wire_b: "anthropic" } as const;

/** Starts Bifrost as a translating relay: without keys, budgets or request log. */
export function startBifrost(start: TargetStart): Promise<Target> {
  return startWith(start, "bifrost", relayConfig(start));
}

/** Starts Bifrost with virtual keys, a budget for each, and its request log, stored in SQLite. */
export function startFullBifrost(start: TargetStart): Promise<Target> {
  return startWith(start, "bifrost-full", fullConfig(start));
}

async function startWith(
  start: TargetStart,
  id: "bifrost" | "bifrost-full",
  config: object,
): Promise<Target> {
  requirePart("bifrost", BIFROST_PROGRAM);
  writeFileSync(join(start.folder, "config.json"), JSON.stringify(config, null, 2));
  const port = await freePort();
  const args = ["-app-dir", start.folder, "-host", "127.0.0.1", "-port", String(port)];
  const program = await startServer({
    port,
    command: BIFROST_PROGRAM,
    args: [...args, "-log-level", "error"],
    logFile: join(start.folder, "bifrost.log"),
  });
  return {
    id,
    version: BIFROST_VERSION,
    endpoint: (route) => {
      const usual = usualEndpoint(port, route, VIRTUAL_KEY);
      return route.client === "wire_a" ? usual : { ...usual, path: `/anthropic${usual.path}` };
    },
    modelId: ({ upstream }) => `${PROVIDERS[upstream]}/${UPSTREAM_MODEL_ID[upstream]}`,
    // Its databases are files that the program itself writes, so there is no other process.
    processes: () => ({ own: [program.processId] }),
    stop: () => program.stop(),
  };
}

function relayConfig({ mockPort }: TargetStart): object {
  const provider = {
    keys: [{ id: "bench", name: "bench", value: "bench", models: ["*"], weight: 1 }],
    network_config: { base_url: `http://127.0.0.1:${mockPort}` },
    concurrency_and_buffer_size: { concurrency: 1_000, buffer_size: 5_000 },
  };
  return {
    client: { enable_logging: false, drop_excess_requests: false, initial_pool_size: 1_000 },
    providers: { openai: provider, anthropic: provider },
    config_store: { enabled: false },
    logs_store: { enabled: false },
  };
}

function fullConfig(start: TargetStart): object {
  const database = (name: string): object => ({
    enabled: true,
    type: "sqlite",
    config: { path: join(start.folder, name) },
  });
  const allowed = { allowed_models: ["*"], key_ids: ["*"], weight: 1 };
  const virtualKey = {
    id: "bench",
    name: "bench",
    value: VIRTUAL_KEY,
    is_active: true,
    budget_id: "bench",
    provider_configs: Object.values(PROVIDERS).map((provider) => ({ provider, ...allowed })),
  };
  return {
    ...relayConfig(start),
    client: {
      enable_logging: true,
      enforce_governance_header: true,
      drop_excess_requests: false,
      initial_pool_size: 1_000,
    },
    governance: {
      budgets: [{ id: "bench", max_limit: 1_000_000, reset_duration: "1M" }],
      virtual_keys: [virtualKey],
    },
    plugins: [{ name: "governance", enabled: true, config: { is_vk_mandatory: true } }],
    config_store: database("config.db"),
    logs_store: database("logs.db"),
  };
}
