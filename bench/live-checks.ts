import { writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { format } from "prettier";

import { DisposalStack } from "../src/app/disposal-stack.ts";
import { openStanding } from "../src/app/open-standing.ts";
import { serveCall } from "../src/call/call.ts";
import { noteConduct, type NotedAnswer } from "../src/call/note-conduct.ts";
import type { CallPorts } from "../src/call/ports.ts";
import type { Deployment } from "../src/catalog/catalog.ts";
import { systemClock } from "../src/core/time.ts";
import { UpstreamClient } from "../src/dispatch/upstream-client.ts";
import { chatOn } from "../src/modality/chat/index.ts";
import { planRoute, type PlanInput } from "../src/routing/plan-route.ts";
import type { ListingVerdict, SuspectListing } from "../src/verification/verdict-store.ts";
import { usageFlaw } from "../src/wire/openai-chat/usage.ts";
import { openaiChat } from "../src/wire/openai-chat/index.ts";
import { wires } from "../src/wire/wires.ts";
import { Dispatched, openRecipe, RecordedExchange } from "../test/support/recipe.ts";
import { simulatorManifest, textModel } from "../test/support/gateway.ts";
import { TRUSTED_LISTINGS } from "../test/support/trusted-listings.ts";

/**
 * What the checks of live answers cost a request: their parts alone, and a whole call in process, on
 * and off in turns. Run: `npm run bench:live-checks -- [--rounds 31] [--save]`. `--save` writes
 * docs/live-checks-performance.md.
 */
const { values: flags } = parseArgs({
  options: {
    rounds: { type: "string", default: "31" },
    save: { type: "boolean", default: false },
  },
});
const ROUNDS = Number(flags.rounds);
/** The checks may cost a request less than this. */
const GOAL_NS = 1_000;
const PART_CALLS = 100_000;
const WHOLE_CALLS = 1_000;
const PAGE = fileURLToPath(new URL("../docs/live-checks-performance.md", import.meta.url));
const LOAD_AT_START = loadavg()[0] ?? 0;

const MODEL = "bench/m";
const ANSWER = JSON.stringify({
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1_800_000_000,
  model: MODEL,
  choices: [
    {
      index: 0,
      message: { role: "assistant", content: "An answer. ".repeat(80) },
      finish_reason: "stop",
    },
  ],
  usage: {
    prompt_tokens: 210,
    completion_tokens: 180,
    total_tokens: 390,
    prompt_tokens_details: { cached_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 0 },
  },
});
const USAGE = (JSON.parse(ANSWER) as { readonly usage: Readonly<Record<string, unknown>> }).usage;

class AnsweringUpstream extends UpstreamClient {
  override send(
    deployment: Deployment,
    _request: unknown,
    handler: ConstructorParameters<typeof Dispatched>[1],
  ): void {
    new Dispatched(deployment, handler).answer(200, ANSWER);
  }
}

const recipe = openRecipe(
  systemClock,
  ["one", "two", "three"].map((provider, priority) =>
    simulatorManifest({
      provider,
      dialect: "wire_a",
      priority,
      baseUrl: `https://${provider}.example/v1`,
      models: [textModel(MODEL)],
    }),
  ),
);
const catalog = recipe.deps.catalog.current;
const { deployments } = catalog;
const orgIds = Array.from({ length: 100 }, (_, n) => `org_${n.toString(16).padStart(24, "0")}`);

interface Known {
  readonly requireVerified?: boolean;
  readonly suspects?: readonly SuspectListing[];
}

async function standingOf({ requireVerified = false, suspects = [] }: Known) {
  const verdicts = deployments.map(
    ({ providerId, modelId, upstreamModelId, manifestSha256 }): ListingVerdict => ({
      providerId,
      modelId,
      upstreamModelId,
      manifestSha256,
      verdict: "pass",
      checkedAtMs: systemClock.nowMs(),
      source: "run",
      checks: [],
    }),
  );
  const options = {
    config: { requireVerified, liveBadPercent: 1, liveAnswersMin: 200 },
    clock: systemClock,
    log: { info: ignore, warn: ignore, error: ignore },
    backend: {
      verdictStore: {
        latest: () => Promise.resolve(verdicts),
        suspects: () => Promise.resolve(suspects),
        history: () => Promise.resolve([]),
        record: () => Promise.resolve(),
        suspect: () => Promise.resolve(),
      },
    },
  };
  const { standing, verification } = await openStanding(options, new DisposalStack());
  verification.close();
  return standing;
}

function ignore(): void {
  // A bench logs nothing.
}

interface Line {
  readonly what: string;
  readonly offNs: number;
  readonly onNs: number;
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? NaN;

/** On and off in turns, so that both have the same machine; the first rounds are not counted. */
async function compare(
  what: string,
  calls: number,
  { off, on }: Readonly<Record<"off" | "on", (n: number) => Promise<void> | undefined>>,
): Promise<Line> {
  const times = { off: [] as number[], on: [] as number[] };
  for (let round = -5; round < ROUNDS; round += 1) {
    const order = round % 2 === 0 ? (["off", "on"] as const) : (["on", "off"] as const);
    for (const name of order) {
      const work = name === "on" ? on : off;
      const startedMs = systemClock.monotonicMs();
      for (let n = 0; n < calls; n += 1) {
        const waiting = work(n);
        if (waiting !== undefined) await waiting;
      }
      const ns = ((systemClock.monotonicMs() - startedMs) * 1e6) / calls;
      if (round >= 0) times[name].push(ns);
    }
  }
  return { what, offNs: Math.round(median(times.off)), onNs: Math.round(median(times.on)) };
}

/** Written so that no compiler can leave out what is measured. */
let seen = 0;

function notedAnswer(more: { readonly isWrong: boolean }): NotedAnswer {
  const [deployment] = deployments;
  if (deployment === undefined) throw new Error("the bench has deployments");
  const bridge = {
    usage: { prompt: 210, cachedPrompt: 0, cacheWrite: 0, completion: 180, internalReasoning: 0 },
    servedModel: { name: MODEL, isSubstituted: more.isWrong },
    reportedCostUsd: undefined,
    usageFlaw: undefined,
    hasWrongFinish: false,
  } as unknown as NotedAnswer["result"]["bridge"];
  return {
    deployment,
    orgId: orgIds[0] ?? "",
    request: { outputTokens: 256 },
    isImpossible: false,
    result: {
      bridge,
      failure: undefined,
      timedOut: false,
      hasOutput: true,
      upstreamStatus: 200,
      firstOutputMs: null,
      firstByteMs: 1,
      durationMs: 2,
    },
  };
}

async function counting(what: string, badEvery: number): Promise<Line> {
  const standing = await standingOf({});
  const good = orgIds.map((orgId) => ({ ...notedAnswer({ isWrong: false }), orgId }));
  const bad = orgIds.map((orgId) => ({ ...notedAnswer({ isWrong: true }), orgId }));
  const answerAt = (n: number): NotedAnswer => {
    const kind = n % badEvery === badEvery - 1 ? bad : good;
    return kind[n % orgIds.length] ?? notedAnswer({ isWrong: false });
  };
  return compare(what, PART_CALLS, {
    off: (n) => {
      seen += answerAt(n).orgId.length;
      return undefined;
    },
    on: (n) => {
      const answer = answerAt(n);
      seen += answer.orgId.length;
      noteConduct({ standing }, answer);
      return undefined;
    },
  });
}

async function planning(what: string, known: Known): Promise<Line> {
  const standing = await standingOf(known);
  const input: PlanInput = {
    modelId: MODEL,
    model: catalog.find(MODEL),
    modality: "text",
    controls: { allowFallbacks: true, requireParameters: false, connections: "prefer" },
    servabilityProblem: () => undefined,
    isHealthy: () => true,
  };
  const watched = { ...input, standing };
  const plan = (given: PlanInput): undefined => {
    seen += planRoute(given).kind.length;
  };
  return compare(what, PART_CALLS, { off: () => plan(input), on: () => plan(watched) });
}

function reading(): Promise<Line> {
  const usages = [USAGE, { ...USAGE, prompt_tokens: 211, total_tokens: 391 }];
  const usageAt = (n: number): Readonly<Record<string, unknown>> => usages[n % 2] ?? USAGE;
  return compare("the counts of a usage are compared", PART_CALLS, {
    off: (n) => {
      seen += usageAt(n) === USAGE ? 1 : 0;
      return undefined;
    },
    on: (n) => {
      const usage = usageAt(n);
      seen += usage === USAGE ? 1 : 0;
      seen += usageFlaw(usage) === undefined ? 0 : 1;
      return undefined;
    },
  });
}

/** From the client's bytes to its answer: everything but sockets, limits and the database. */
async function wholeCalls(): Promise<readonly Line[]> {
  const upstream = new AnsweringUpstream({ allowPrivateUpstreams: true, providerKey: () => "key" });
  const kind = chatOn(openaiChat, wires);
  const messages = [{ role: "user", content: "A question. ".repeat(70) }];
  const call = async (ports: CallPorts): Promise<void> => {
    const client = new RecordedExchange({ model: MODEL, max_tokens: 256, messages });
    await serveCall(ports, client, kind);
    if (client.refusal !== undefined) throw new Error(client.refusal.message);
    seen += client.text.length;
  };
  const deps: CallPorts = { ...recipe.deps, upstream, scopesOf: () => [], platform: [] };
  const off = { ...deps, standing: TRUSTED_LISTINGS };
  const usual = { ...deps, standing: await standingOf({}) };
  const verified = { ...deps, standing: await standingOf({ requireVerified: true }) };
  const compared = (what: string, on: CallPorts): Promise<Line> =>
    compare(what, WHOLE_CALLS, { off: () => call(off), on: () => call(on) });
  return [
    await compared("a whole call", usual),
    await compared("a whole call, verified listings are required", verified),
    await compared("off in both columns: what differs without a cause", { ...off }),
  ];
}

const [first] = deployments;
const suspect = {
  providerId: first?.providerId ?? "",
  modelId: MODEL,
  sinceMs: 0,
  breaches: {} as SuspectListing["breaches"],
};
const usual = {
  reading: await reading(),
  counting: await counting("an answer is counted, of one of 100 organizations", Infinity),
  planning: await planning("three deployments are planned", {}),
};
const others = [
  await counting("one in 120 counted answers breaks a promise", 120),
  await counting("every third counted answer breaks a promise", 3),
  await planning("three are planned, verified listings are required", { requireVerified: true }),
  await planning("three are planned, the first listing is suspect", { suspects: [suspect] }),
];
const whole = await wholeCalls();
const totalNs = Object.values(usual).reduce((sum, line) => sum + differenceOf(line), 0);
/** Of each part the row that costs most. */
const highest = [usual.reading, ...[others.slice(0, 2), others.slice(2)].map(dearest)];
const highestNs = highest.reduce((sum, line) => sum + differenceOf(line), 0);
console.table([...Object.values(usual), ...others, ...whole]);
console.log(
  `${totalNs} ns a request, ${highestNs} ns at most, goal: less than ${GOAL_NS} ns (${seen} seen)`,
);
if (flags.save) writeFileSync(PAGE, await format(page(), { parser: "markdown" }));

function differenceOf({ onNs, offNs }: Line): number {
  return onNs - offNs;
}

function dearest(lines: readonly Line[]): Line {
  const [most] = lines.toSorted((a, b) => differenceOf(b) - differenceOf(a));
  if (most === undefined) throw new Error("a part has rows");
  return most;
}

function row({ what, offNs, onNs }: Line): string {
  return `| ${what} | ${offNs} | ${onNs} | ${onNs - offNs} |`;
}

function page(): string {
  return `# Performance of the checks on live answers

Written by \`npm run bench:live-checks -- --save\` from what it measured; change it in \`bench/live-checks.ts\`.

Measured on ${new Date(systemClock.nowMs()).toISOString().slice(0, 10)} with Node ${process.versions.node} on
${cpus().length} cores (${cpus()[0]?.model ?? "unknown"}), load average at start ${LOAD_AT_START.toFixed(2)}: the medians of
${ROUNDS} rounds, off and on in turns in one run. Off is the same loop without the part; of a whole call
it is a gateway that neither asks how far a listing is trusted nor keeps counts.

Goal: less than ${GOAL_NS} ns a request: **${highestNs < GOAL_NS ? "reached" : "missed"}**. The first three rows together are
${totalNs} ns; with the row of each part that costs most they are ${highestNs} ns.

| Part | Off, ns | On, ns | Difference, ns |
| --- | --- | --- | --- |
${Object.values(usual).map(row).join("\n")}
${others.map(row).join("\n")}

A whole call of 1 KB in process, without sockets, limits and the database. Its last row says how far
the others can be read:

| Call | Off, ns | On, ns | Difference, ns |
| --- | --- | --- | --- |
${whole.map(row).join("\n")}
`;
}
