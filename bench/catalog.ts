import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import { compileCatalog, type CatalogInput } from "../src/catalog/compile-catalog.ts";
import type { Catalog } from "../src/catalog/catalog.ts";
import { validateManifest } from "../src/catalog/manifest/index.ts";
import { catalogHandlers } from "../src/account/console-api/catalog-routes.ts";
import type { ConsoleDeps } from "../src/account/console-api/console-deps.ts";
import { systemClock } from "../src/kernel/core/time.ts";
import { headParameters } from "../src/listing-tools/listing-sources/provider-heads.ts";
import { providerHeads } from "../src/listing-tools/index.ts";
import { chatOn } from "../src/formats/modality/chat/index.ts";
import { planRoute } from "../src/gateway/routing/plan-route.ts";
import { modelListA, modelListB } from "../src/gateway/records/serve-records.ts";
import { filterModels, rankNames } from "../src/gateway/records/model-query.ts";
import { Verification } from "../src/gateway/verification/verification.ts";
import { openaiChat } from "../src/formats/wire/openai-chat/index.ts";
import { wires } from "../src/formats/wire/wires.ts";
import { print, median, parseWords, type Report } from "./program.ts";

export const USAGE: string = `npm run bench -- catalog [options]
  What a catalog of many listings costs: to compile, in memory, for a request, and for the lists that
  anybody may ask for.
  --listings 10000`;

const FEW = 10;
const ROUNDS = 7;
const REQUESTS = 20_000;

const PRICING = [
  { type: "prompt", unit: "token", cost_usd_per_million: "0.15" },
  { type: "cached_prompt", unit: "token", cost_usd_per_million: "0.05" },
  { type: "completion", unit: "token", cost_usd_per_million: "0.6" },
];

const CHECKED = { on: "2026-11-22", by: "two-sources" };
const TIERS = [{ above_prompt_tokens: 128_000, pricing: PRICING }];

/** Returns manifests with `count` listings of the known providers; every tenth has price tiers. */
function manifestTexts(count: number): readonly string[] {
  const heads = providerHeads().filter(({ use }) => use === "import");
  const each = Math.ceil(count / heads.length);
  return heads.flatMap((head, at) => {
    const { provider, endpoint, settlement, wire_profile } = head;
    const taken = Math.min(each, count - at * each);
    const ids = Array.from({ length: Math.max(0, taken) }, (_, n) => `lab-${at}/model-${n}`);
    if (ids.length === 0) return [];
    const abilities = { tools: true, structured: true, sampling: true, maxOutputTokens: 32_768 };
    return JSON.stringify({
      manifest_version: "1",
      provider,
      endpoint,
      settlement,
      models: ids.map((id, n) => ({
        id,
        display_name: `Model ${n} of laboratory ${at}`,
        context_length: 200_000,
        max_output_tokens: 32_768,
        streaming: true,
        released: "2026-05-01",
        supported_parameters: headParameters(head, { ...abilities, reasons: n % 2 === 0 }),
        pricing: PRICING,
      })),
      ...(wire_profile !== undefined && { wire_profile }),
      listing_terms: Object.fromEntries(
        ids.map((id, n) => [id, { checked: CHECKED, ...(n % 10 === 0 && { price_tiers: TIERS }) }]),
      ),
    });
  });
}

function inputOf(count: number): CatalogInput {
  const manifests = manifestTexts(count).map((text, at) => {
    const verdict = validateManifest(text);
    if (!verdict.ok) throw new Error(verdict.problems[0]?.message);
    return { file: `manifest-${at}.json`, manifest: verdict.manifest, sha256: `${at}` };
  });
  return { manifests, hasKey: () => true, today: "2026-11-22", nowMs: systemClock.nowMs() };
}

function compiled(input: CatalogInput): Catalog {
  const outcome = compileCatalog(input);
  if (!outcome.ok) throw new Error(outcome.issues[0]?.message);
  return outcome.catalog;
}

/** Returns the CPU time of this process with its garbage collector, but not of other processes. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

function timeMs(work: () => void): number {
  const startedMs = cpuMs();
  work();
  return cpuMs() - startedMs;
}

function heapMb(): number {
  setFlagsFromString("--expose-gc");
  const gc = runInNewContext("gc") as () => void;
  gc();
  gc();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return (heapUsed + arrayBuffers) / 1_048_576;
}

/** Counts encoded bytes, so that no compiler can leave out the measured work. */
let seen = 0;

/** Measures the CPU microseconds from a request's body to the request for its first deployment. */
function requestMicros(catalog: Catalog): number {
  const kind = chatOn(openaiChat, wires);
  const models = catalog.models;
  const model = models[models.length >> 1];
  if (model === undefined) throw new Error("the catalog lists models");
  const messages = [{ role: "user", content: "A question. ".repeat(70) }];
  const text = JSON.stringify({ model: model.id, max_tokens: 256, stream: true, messages });
  const times = Array.from({ length: ROUNDS }, () =>
    timeMs(() => {
      for (let n = 0; n < REQUESTS; n += 1) {
        const read = kind.read({ body: Buffer.from(text), header: () => undefined });
        if (!read.ok) throw new Error(read.refusal.message);
        const { request } = read;
        const plan = planRoute({
          modelId: request.modelId,
          model: catalog.find(request.modelId),
          modality: "text",
          controls: request.controls,
          servabilityProblem: (each) => kind.servabilityProblem(request, each),
          isHealthy: () => true,
        });
        if (plan.kind !== "plan") throw new Error(plan.refusal.message);
        const encoded = kind.encode(request, plan.first);
        seen += encoded.ok ? encoded.upstream.body.length : 0;
      }
    }),
  );
  return (median(times.slice(2)) * 1_000) / REQUESTS;
}

/** Measures an answer, and the longest time for which it makes another request wait. */
async function listed(what: string, make: () => Promise<number>) {
  let lastMs = cpuMs();
  let blockedMs = 0;
  let isDone = false;
  const look = (): void => {
    const nowMs = cpuMs();
    blockedMs = Math.max(blockedMs, nowMs - lastMs);
    lastMs = nowMs;
    if (!isDone) setImmediate(look);
  };
  setImmediate(look);
  const startedMs = cpuMs();
  const bytes = await make();
  isDone = true;
  look();
  return { what, totalMs: cpuMs() - startedMs, blockedMs, bytes };
}

const bytesOf = (pieces: readonly Buffer[]): number =>
  pieces.reduce((sum, piece) => sum + piece.length, 0);

async function lists(catalog: Catalog) {
  const verdicts = new Verification({
    store: { latest: () => Promise.resolve([]), suspects: () => Promise.resolve([]) },
    clock: systemClock,
    log: { warn: () => undefined },
  });
  const console_ = catalogHandlers({ catalog: { current: catalog } } as unknown as ConsoleDeps);
  const call = {} as Parameters<(typeof console_)["GET /api/catalog.json"]>[0];
  const wireA = async (): Promise<number> => bytesOf(await modelListA(catalog.models, verdicts));
  const shown = async (): Promise<number> => {
    const answer = await console_["GET /api/catalog.json"](call);
    const { body } = answer as unknown as { readonly body: Buffer };
    return body.length;
  };
  return [
    await listed("`GET /v1/models`, for the first time", wireA),
    await listed("`GET /v1/models`, from then on", wireA),
    await listed("its models sorted by name", async () => {
      await rankNames(catalog.models);
      return filterModels(catalog.models, { sort: "name" }, verdicts).length;
    }),
    await listed("its models sorted by price", async () =>
      Promise.resolve(filterModels(catalog.models, { sort: "prompt_price" }, verdicts).length),
    ),
    await listed("`GET /v1/models` in the shape of messages", async () =>
      bytesOf(await modelListB(catalog.models, {})),
    ),
    await listed("the console's catalog, for the first time", shown),
    await listed("the console's catalog, from then on", shown),
  ];
}

export async function run(words: readonly string[]): Promise<Report> {
  const { listings: count } = parseWords(words, { listings: { value: 10_000, max: 1_000_000 } });
  const fewMicros = requestMicros(compiled(inputOf(FEW)));
  const input = inputOf(count);
  const times = Array.from({ length: ROUNDS }, () => timeMs(() => void compiled(input)));
  const beforeMb = heapMb();
  const many = compiled(input);
  const memoryMb = heapMb() - beforeMb;
  const manyMicros = requestMicros(many);
  const made = await lists(many);
  const figures = [
    [`${many.deployments.length} listings compiled, median of ${ROUNDS}, ms`, median(times)],
    ["memory of the catalog, MB", memoryMb],
    ["the same, with the lists that are kept, MB", heapMb() - beforeMb],
    [`a request, from its bytes to the provider's, with ${FEW} listings, us`, fewMicros],
    [`the same with ${count}, us`, manyMicros],
  ] as const;
  return {
    tables: [
      {
        title: "CPU time of the process, its helpers for garbage included",
        headings: ["", "Measured"],
        rows: figures.map(([what, value]) => [what, print(value)]),
      },
      {
        title: "Lists",
        headings: ["List", "Size, MB", "Time, ms", "Others wait at most, ms"],
        rows: made.map(({ what, totalMs, blockedMs, bytes }) => [
          what,
          bytes > count ? print(bytes / 1e6) : "",
          print(totalMs),
          print(blockedMs),
        ]),
      },
    ],
    problems: seen > 0 ? [] : ["no request was encoded"],
  };
}
