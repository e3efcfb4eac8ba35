import { readFileSync } from "node:fs";
import { resolve } from "node:path";

import type { CheckId } from "../../src/listing-tools/conformance/report/finding.ts";
import type { ConformanceReport } from "../../src/listing-tools/conformance/report/report.ts";
import { runSuite } from "../../src/listing-tools/conformance/run-suite.ts";
import { microUsd } from "../../src/kernel/core/money.ts";
import { systemClock } from "../../src/kernel/core/time.ts";
import { type FaultRule, startSimulator } from "../../src/dev/simulator/simulator.ts";
import { type CheatModality, PLAYED_CHEATS } from "./cheats/cheats.ts";
import { seedOf } from "./depth.ts";

const ROOT = resolve(import.meta.dirname, "../..");

export interface Host {
  readonly name: string;
  readonly modality: CheatModality;
  readonly manifest: string;
  /** Path in the simulator's URL at which it plays this host. */
  readonly path: string;
  readonly listing?: Readonly<Record<string, unknown>>;
  /** Features that some checks need and this host does not declare. */
  readonly lacks?: readonly string[];
}

/** Seeds the random values of the suite; the simulator's seed is chosen by the caller. */
const SEED = String(seedOf("conformance"));
const BUDGET = microUsd(20_000_000n);

const EVERY_INPUT = { input_modalities: ["text", "image", "file", "audio", "video"] };
const CHAT_A = { modality: "text", manifest: "manifests/simulator-a.json", path: "/a/v1" } as const;

export const HOSTS: readonly Host[] = [
  {
    ...CHAT_A,
    name: "chat, wire_a",
    listing: EVERY_INPUT,
    lacks: ["no reasoning unless asked for", "dear cache writes"],
  },
  {
    name: "chat, wire_b",
    modality: "text",
    manifest: "manifests/simulator-b.json",
    path: "/b/v1",
    listing: EVERY_INPUT,
    lacks: ["no reasoning unless asked for", "a total in its usage", "single calls", "formats"],
  },
  {
    ...CHAT_A,
    name: "chat without declared reasoning",
    listing: { supported_parameters: { max_tokens: { type: "integer", min: 1, max: 32_768 } } },
    lacks: [
      "tools",
      "single calls",
      "formats",
      "images in the prompt",
      "dear cache writes",
      "a range of temperature",
      "stop sequences",
    ],
  },
  {
    name: "images",
    modality: "image",
    manifest: "manifests/simulator-images.json",
    path: "/img/v1",
  },
  {
    name: "videos",
    modality: "video",
    manifest: "manifests/simulator-videos.json",
    path: "/vid/v1",
  },
  {
    name: "decisions",
    modality: "decisions",
    manifest: "manifests/simulator-decisions.json",
    path: "/sys/v1",
    lacks: ["images in the prompt", "spans"],
  },
  {
    name: "decisions, gliner",
    modality: "decisions",
    manifest: "examples/manifests/decisions-gliner.json",
    path: "/gli/v1",
    lacks: ["images in the prompt", "probabilities", "output tokens", "a model in its answers"],
  },
  {
    name: "decisions on images",
    modality: "decisions",
    manifest: "examples/manifests/decisions-per-question.json",
    path: "/pplx/v1",
    lacks: ["a state that is counted once", "spans"],
  },
];

interface RunAgainst {
  readonly fault?: string;
  /** Faults of some answers, which take precedence over `fault`. */
  readonly rules?: readonly FaultRule[];
  readonly seed?: string;
}

export async function runAgainst(
  host: Host,
  { fault, rules = [], seed = "conformance" }: RunAgainst = {},
): Promise<{ readonly report: ConformanceReport; readonly calls: number }> {
  const simulator = await startSimulator({
    seed,
    cheats: PLAYED_CHEATS,
    ...(fault === undefined ? {} : { fault }),
  });
  try {
    for (const rule of rules) simulator.script(rule);
    const report = await runListing({ ...host, baseUrl: simulator.url + host.path });
    return { report, calls: simulator.counts().total };
  } finally {
    await simulator.close();
  }
}

interface ListingAt extends Pick<Host, "manifest" | "listing"> {
  readonly modality?: CheatModality;
  readonly baseUrl: string;
  readonly key?: string;
  readonly timeoutMs?: number;
  readonly allowPrivate?: boolean;
  readonly endpoint?: Readonly<Record<string, unknown>>;
  readonly decisionsPublicForm?: boolean;
  readonly checks?: readonly CheckId[];
}

export async function runListing(asked: ListingAt): Promise<ConformanceReport> {
  const { manifest, key = "a-good-key", timeoutMs = 20_000 } = asked;
  const outcome = await runSuite({
    manifestText: manifestAt(asked),
    file: manifest,
    env: { SIMULATOR_KEY: key },
    clock: systemClock,
    allowPrivateUpstreams: asked.allowPrivate ?? true,
    models: [],
    decisionsPublicForm: asked.decisionsPublicForm ?? false,
    checks: asked.checks ?? [],
    budgetMicroUsd: BUDGET,
    concurrency: 1,
    timeoutMs,
    jobPollMs: 5,
    seed: SEED,
    signal: new AbortController().signal,
  });
  if (!outcome.ok) throw new Error(outcome.problems.join("\n"));
  return outcome.report;
}

/** Returns the manifest with its first listing only, at this address and with a key. */
export function manifestAt({ manifest: file, modality, listing, ...more }: ListingAt): string {
  const manifest = JSON.parse(readFileSync(resolve(ROOT, file), "utf8")) as {
    readonly endpoint: Record<string, unknown>;
    readonly models: readonly Record<string, unknown>[];
  };
  const endpoint = {
    ...manifest.endpoint,
    ...more.endpoint,
    base_url: more.baseUrl,
    api_key_env: "SIMULATOR_KEY",
    ...(modality === "decisions" && { decisions_path: "/as_sent" }),
  };
  return JSON.stringify({
    ...manifest,
    endpoint,
    models: [{ ...manifest.models[0], ...listing }],
  });
}
