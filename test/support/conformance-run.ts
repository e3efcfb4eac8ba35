import { readFileSync } from "node:fs";
import { resolve } from "node:path";

import type { CheckId } from "../../src/listing-tools/conformance/report/finding.ts";
import { type ConformanceReport } from "../../src/listing-tools/conformance/report/report.ts";
import { runSuite } from "../../src/listing-tools/conformance/run-suite.ts";
import { parseUsd, ZERO_MICRO_USD } from "../../src/kernel/core/money.ts";
import { systemClock } from "../../src/kernel/core/time.ts";
import {
  type FaultRule,
  type Simulator,
  startSimulator,
} from "../../src/dev/simulator/simulator.ts";
import { type CheatModality, PLAYED_CHEATS } from "./cheats/cheats.ts";
import { seedOf } from "./depth.ts";

const ROOT = resolve(import.meta.dirname, "../..");

export interface Host {
  readonly name: string;
  readonly modality: CheatModality;
  /** Path from the root of the repository. */
  readonly manifest: string;
  /** Path in the simulator's URL at which it plays this host. */
  readonly path: string;
  /** Members that replace or complete those of the listing in the file. */
  readonly listing?: Readonly<Record<string, unknown>>;
  /** Features that some checks need and this host does not declare. */
  readonly lacks?: readonly string[];
}

/** Seeds the random values of the suite; the simulator's seed is chosen by the caller. */
const SEED = String(seedOf("conformance"));

const EVERY_INPUT = { input_modalities: ["text", "image", "file", "audio", "video"] };
const IMAGES_READ = "images in the prompt";
const STATE_ONCE = "a state that is counted once";

/**
 * Hosts of every modality: chat on each wire and without declared reasoning, and decisions on each
 * wire and with images.
 */
export const HOSTS: readonly Host[] = [
  {
    name: "chat, wire_a",
    modality: "text",
    manifest: "manifests/simulator-a.json",
    path: "/a/v1",
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
    name: "chat without declared reasoning",
    modality: "text",
    manifest: "manifests/simulator-a.json",
    path: "/a/v1",
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
    lacks: [IMAGES_READ, "spans"],
  },
  {
    name: "decisions, gliner",
    modality: "decisions",
    manifest: "examples/manifests/decisions-gliner.json",
    path: "/gli/v1",
    lacks: [IMAGES_READ, "probabilities", "output tokens", "a model in its answers"],
  },
  {
    name: "decisions on images",
    modality: "decisions",
    manifest: "examples/manifests/decisions-per-question.json",
    path: "/pplx/v1",
    lacks: [STATE_ONCE, "spans"],
  },
];

export interface RunAgainst {
  /** The fault of every answer, in the simulator's syntax. */
  readonly fault?: string;
  /** Faults of some answers, which take precedence over `fault`. */
  readonly rules?: readonly FaultRule[];
  readonly seed?: string;
  readonly budgetUsd?: string;
}

export async function runAgainst(
  host: Host,
  { fault, rules = [], seed = "conformance", budgetUsd = "20" }: RunAgainst = {},
): Promise<{ readonly report: ConformanceReport; readonly calls: number }> {
  const simulator: Simulator = await startSimulator({
    port: 0,
    host: "127.0.0.1",
    seed,
    cheats: PLAYED_CHEATS,
    ...(fault === undefined ? {} : { fault }),
  });
  try {
    for (const rule of rules) simulator.script(rule);
    const baseUrl = simulator.url + host.path;
    const report = await runListing({ ...host, baseUrl, budgetUsd });
    return { report, calls: simulator.counts().total };
  } finally {
    await simulator.close();
  }
}

export interface ListingAt extends Pick<Host, "manifest" | "listing"> {
  readonly modality?: CheatModality;
  readonly baseUrl: string;
  readonly key?: string;
  readonly budgetUsd?: string;
  readonly timeoutMs?: number;
  readonly allowPrivate?: boolean;
  /** Members that replace those of the endpoint in the file. */
  readonly endpoint?: Readonly<Record<string, unknown>>;
  readonly decisionsPublicForm?: boolean;
  /** Default: empty, which runs all checks. */
  readonly checks?: readonly CheckId[];
}

/** Runs the checks on the first listing of a manifest, at the given address. */
export async function runListing(asked: ListingAt): Promise<ConformanceReport> {
  const { manifest, key = "a-good-key", budgetUsd = "20", timeoutMs = 20_000 } = asked;
  const outcome = await runSuite({
    manifestText: manifestAt(asked),
    file: manifest,
    env: { SIMULATOR_KEY: key },
    clock: systemClock,
    allowPrivateUpstreams: asked.allowPrivate ?? true,
    models: [],
    decisionsPublicForm: asked.decisionsPublicForm ?? false,
    checks: asked.checks ?? [],
    budgetMicroUsd: parseUsd(budgetUsd) ?? ZERO_MICRO_USD,
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
