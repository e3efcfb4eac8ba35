/**
 * How long it takes to compare two manifests of so many listings of which every tenth has another
 * price and every twentieth tiers and a price change: the comparison alone, and with reading and
 * checking both texts. Run: `npm run bench:manifest-diff [listings, default 2,000]`.
 */
import { validateManifest } from "../src/catalog/manifest/index.ts";
import { systemClock } from "../src/core/time.ts";
import { diffManifests } from "../src/listing-changes/index.ts";

const listings = Number(process.argv[2] ?? 2_000);
const ROUNDS = 9;
const nowMs = Date.parse("2026-11-23T12:00:00Z");

const texts = [manifestText(false), manifestText(true)] as const;
const whole: number[] = [];
const alone: number[] = [];
for (let round = 0; round < ROUNDS; round++) {
  const startMs = systemClock.monotonicMs();
  const [before, after] = texts.map((text) => {
    const verdict = validateManifest(text);
    if (!verdict.ok) throw new Error(JSON.stringify(verdict.problems[0]));
    return verdict.manifest;
  });
  if (before === undefined || after === undefined) throw new Error("two manifests");
  const readMs = systemClock.monotonicMs();
  const { counts } = diffManifests(before, after, nowMs);
  const endMs = systemClock.monotonicMs();
  if (counts.changed === 0) throw new Error("nothing changed");
  whole.push(endMs - startMs);
  alone.push(endMs - readMs);
}
console.log(
  `${listings} listings, ${Math.round(texts[0].length / 1_024)} KiB each: compared in ${middle(alone)} ms, ` +
    `with reading and checking both in ${middle(whole)} ms (medians of ${ROUNDS}, worst ${worst(whole)} ms)`,
);

function manifestText(isNew: boolean): string {
  const ids = Array.from({ length: listings }, (_, at) => `lab-${at % 40}/model-${at}`);
  const models = ids.map((id, at) => ({
    id,
    context_length: 200_000,
    max_output_tokens: 16_384,
    streaming: true,
    input_modalities: ["text", "image"],
    supported_parameters: {
      temperature: { type: "range", min: 0, max: 2 },
      top_p: { type: "range", min: 0, max: 1 },
      seed: { type: "integer" },
      tools: { type: "boolean" },
    },
    pricing: pricing(isNew && at % 10 === 0 ? "1.5" : "1.25"),
  }));
  const terms = ids.flatMap((id, at) => {
    if (at % 20 !== 0) return [];
    const price_tiers = [{ above_prompt_tokens: 100_000, pricing: pricing(isNew ? "3" : "2.5") }];
    const price_changes = [{ from: "2027-01-01T00:00:00Z", pricing: pricing("2"), price_tiers }];
    return [[id, { price_tiers, price_changes }] as const];
  });
  return JSON.stringify({
    manifest_version: "1",
    provider: {
      id: "bench",
      name: "Bench",
      privacy_policy_url: "https://example.com/privacy",
      prompt_logging: "none",
    },
    endpoint: { base_url: "https://api.example.com/v1", dialect: "wire_a" },
    settlement: { mode: "arrears", interval: "monthly" },
    models,
    listing_terms: Object.fromEntries(terms),
  });
}

function pricing(prompt: string): object[] {
  const unit = "token";
  return [
    { type: "prompt", unit, cost_usd_per_million: prompt },
    { type: "cached_prompt", unit, cost_usd_per_million: "0.125" },
    { type: "completion", unit, cost_usd_per_million: "10" },
  ];
}

function middle(times: readonly number[]): number {
  return Math.round(times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0);
}

function worst(times: readonly number[]): number {
  return Math.round(Math.max(...times));
}
