import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { answersOk, startServer, type TetheredProgram } from "../support/tethered-program.ts";
import { freePort } from "../support/free-port.ts";
import { descendantsOf } from "../support/process-cost.ts";
import { startDatabase, type BenchDatabase } from "../../bench/books.ts";
import {
  INSTALLED,
  LITELLM_ENVIRONMENT,
  PRISMA_FOLDER,
  requirePart,
  usualEndpoint,
} from "./peer-files.ts";
import { UPSTREAM_MODEL_ID } from "../../bench/mock-answers.ts";
import type { Pace, Target, TargetStart } from "../../bench/targets/target.ts";

const PROGRAM = join(LITELLM_ENVIRONMENT, "bin", "python3");
const MASTER_KEY = "sk-bench-master";
const MODELS = { wire_a: "bench-a", wire_b: "bench-b" } as const;
const PACE: Pace = { connectionsMax: 8, streamsMax: 50, windows: 5 };

/** The Python peer as a translating relay: without keys, budgets or spending log. */
export async function startLiteLlm(start: TargetStart): Promise<Target> {
  requirePart("litellm", PROGRAM);
  const { program, port } = await startProxy(start, [], {});
  return target({ id: "litellm", program, port, key: "bench" });
}

/** The Python peer with virtual keys, a budget and its spending log, all in PostgreSQL. */
export async function startFullLiteLlm(start: TargetStart): Promise<Target> {
  requirePart("litellm", PROGRAM);
  requirePart("litellm-database", PRISMA_FOLDER);
  const database = await startDatabase(join(start.folder, "postgres"));
  try {
    const settings = [
      "general_settings:",
      `  master_key: ${MASTER_KEY}`,
      "  proxy_batch_write_at: 60",
      "  database_connection_pool_limit: 10",
    ];
    const { program, port } = await startProxy(start, settings, {
      DATABASE_URL: database.connectionString,
      LITELLM_SALT_KEY: "sk-bench-salt",
      PRISMA_BINARY_CACHE_DIR: PRISMA_FOLDER,
    });
    const key = await makeKey(port);
    return target({ id: "litellm-full", program, port, key, database });
  } catch (error) {
    await database.stop();
    throw error;
  }
}

/** Starts LiteLLM as its manual advises for production: one worker, few logs, fixed prices. */
async function startProxy(
  start: TargetStart,
  settings: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<{ program: TetheredProgram; port: number }> {
  const configFile = join(start.folder, "litellm.yaml");
  writeFileSync(configFile, [...modelLines(start.mockPort), ...settings, ""].join("\n"));
  const port = await freePort();
  const where = ["--config", configFile, "--host", "127.0.0.1", "--port", String(port)];
  const plain = { LITELLM_MODE: "PRODUCTION", LITELLM_LOG: "ERROR" };
  const program = await startServer(
    {
      port,
      command: PROGRAM,
      args: ["-m", "litellm.proxy.proxy_cli", ...where, "--num_workers", "1", "--run_granian"],
      logFile: join(start.folder, "litellm.log"),
      env: { ...plain, LITELLM_LOCAL_MODEL_COST_MAP: "True", ...env },
    },
    () => answersOk(`http://127.0.0.1:${port}/health/liveliness`),
  );
  return { program, port };
}

function modelLines(mockPort: number): readonly string[] {
  return [
    "model_list:",
    `  - model_name: ${MODELS.wire_a}`,
    "    litellm_params:",
    `      model: openai/${UPSTREAM_MODEL_ID.wire_a}`,
    `      api_base: http://127.0.0.1:${mockPort}/v1`,
    "      api_key: bench",
    `  - model_name: ${MODELS.wire_b}`,
    "    litellm_params:",
    `      model: anthropic/${UPSTREAM_MODEL_ID.wire_b}`,
    `      api_base: http://127.0.0.1:${mockPort}`,
    "      api_key: bench",
    "litellm_settings:",
    "  request_timeout: 600",
    "  set_verbose: false",
    "  use_chat_completions_url_for_anthropic_messages: true",
  ];
}

async function makeKey(port: number): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${port}/key/generate`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${MASTER_KEY}` },
    body: JSON.stringify({ max_budget: 1_000_000, budget_duration: "30d" }),
  });
  const made = (await answer.json()) as { readonly key?: string };
  if (made.key === undefined) throw new Error(`LiteLLM made no key: ${JSON.stringify(made)}`);
  return made.key;
}

interface RunningProxy {
  readonly id: "litellm" | "litellm-full";
  readonly program: TetheredProgram;
  readonly port: number;
  readonly key: string;
  readonly database?: BenchDatabase;
}

function target({ id, program, port, key, database }: RunningProxy): Target {
  return {
    id,
    version: pinnedVersion(),
    endpoint: (route) => usualEndpoint(port, route, key),
    modelId: ({ upstream }) => MODELS[upstream],
    pace: PACE,
    // Its workers count too, and the engine through which they reach the database.
    processes: () => ({
      own: [program.processId, ...descendantsOf(program.processId)],
      helpers: database?.processIds() ?? [],
    }),
    stop: async () => {
      await program.stop();
      await database?.stop();
    },
  };
}

function pinnedVersion(): string {
  const text = readFileSync(join(INSTALLED, "..", "litellm-requirements.txt"), "utf8");
  return /^litellm==(\S+)$/m.exec(text)?.[1] ?? "";
}
