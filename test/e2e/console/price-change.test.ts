import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";

import { systemClock } from "../../../src/kernel/core/time.ts";
import { ask, costOf, get, type HttpAnswer } from "../../support/ask.ts";
import { brokenBooks, nothingHeld, until } from "../../support/books.ts";
import { simulatorManifest, textModel } from "../../support/gateway.ts";
import { at, listAt, textAt } from "../../support/http-call.ts";
import { runCommand } from "../../support/program.ts";
import {
  newcomer,
  openProviderFixture,
  type Person,
  type ProviderFixture,
} from "./provider-fixture.ts";
import { newFolder } from "../../support/run-folder.ts";

const MODEL = "mistralai/small-1";
const DAY_MS = 86_400_000;

const LATER_PRICES = [
  { type: "prompt", unit: "token", cost_usd_per_million: "1" },
  { type: "completion", unit: "token", cost_usd_per_million: "9" },
];
/** A listing with an announced price cut. */
const CUT_LATER = {
  ...simulatorManifest({ provider: "late", dialect: "wire_a", models: [textModel("late/one")] }),
  listing_terms: {
    "late/one": { price_changes: [{ from: "2099-01-01T00:00:00Z", pricing: LATER_PRICES }] },
  },
};

const root = newFolder("prices");
let fixture: ProviderFixture;
let ann: Person;
let bob: Person;
let key: string;

/** Writes a price list in LiteLLM's format, with one model's prices in dollars per token. */
function sourceFile(day: string, input: string, output: string): string {
  const path = join(root, `list-${day}.json`);
  const entry = `{"litellm_provider": "mistral", "mode": "chat", "input_cost_per_token": ${input},
    "output_cost_per_token": ${output}, "max_input_tokens": 128000, "max_output_tokens": 8192}`;
  writeFileSync(path, `{"mistral/small-1": ${entry}}`);
  return path;
}

/** The manifest that an import makes of the list, with the simulator's address. */
async function importedManifest(): Promise<object> {
  const out = join(root, "imported.json");
  const args = ["--from", "litellm", "--provider", "mistral", "--out", out];
  const source = sourceFile("2026-08-01", "1e-06", "2e-06");
  expect(await runCommand(["manifest", "import", ...args, source])).toMatchObject({ code: 0 });
  const { wire_profile: _profile, ...manifest } = JSON.parse(readFileSync(out, "utf8")) as Record<
    string,
    unknown
  >;
  const endpoint = {
    base_url: "{simulator}/a/v1",
    dialect: "wire_a",
    api_key_env: "TEST_PROVIDER_KEY",
  };
  return { ...manifest, endpoint };
}

beforeAll(async () => {
  fixture = await openProviderFixture({ manifests: [await importedManifest(), CUT_LATER] });
  [ann, bob] = [await fixture.signIn(newcomer("ann")), await fixture.signIn(newcomer("bob"))];
  await fixture.grant(ann, "10");
  const made = await ann.do("POST /api/console/keys", { body: { name: "own" } });
  key = textAt(made.json, "secret");
});

afterAll(async () => {
  await fixture.close();
  rmSync(root, { recursive: true, force: true });
});

function served(model = MODEL): Promise<HttpAnswer> {
  const text = "say something about the price of things";
  return ask(fixture.gateway.url, { key, wire: "wire_a", model, text });
}

/** The cost of the answer at these micro-dollars per million tokens, rounded down once. */
function costAt(answer: HttpAnswer, prompt: bigint, completion: bigint): bigint {
  const tokens = (name: string): bigint => BigInt(Number(at(answer.json, `usage.${name}`)));
  const pico = tokens("prompt_tokens") * prompt + tokens("completion_tokens") * completion;
  return pico / 1_000_000n;
}

const notices = async (person: Person): Promise<readonly unknown[]> =>
  listAt((await person.do("GET /api/console/price-changes")).json, "data");

test("an imported price rise is announced to the model's users only, and charged from the announced second", async () => {
  const { gateway } = fixture;
  const account = { orgId: ann.orgId, keyId: "", key };
  const first = await served();
  expect(first.status).toBe(200);
  expect(costOf(first)).toBe(costAt(first, 1_000_000n, 2_000_000n));
  await nothingHeld(gateway, account);
  expect(await notices(ann)).toEqual([]);
  expect((await served("late/one")).status).toBe(200);

  // The price in the list has risen by 10%; the operator announces it for the day after tomorrow.
  const file = join(gateway.config.manifestsDir, "manifest-0.json");
  const day = new Date(systemClock.nowMs() + 2 * DAY_MS).toISOString().slice(0, 10);
  const source = `litellm=${sourceFile("2026-09-01", "1.1e-06", "2.2e-06")}`;
  const args = ["--source", source, "--write", "--effective", day];
  const refreshed = await runCommand(["manifest", "refresh", file, ...args]);
  expect(refreshed).toMatchObject({ code: 0, stderr: "" });

  const used = costAt(first, 1_000_000n, 2_000_000n);
  const later = costAt(first, 1_100_000n, 2_200_000n);
  const notice = await until("it is announced", async () => {
    gateway.running.reload();
    return (await notices(ann)).find((each) => at(each, "model") === MODEL);
  });
  const from = `${day}T00:00:00.000Z`;
  expect(notice).toMatchObject({
    notice_id: `mistral/${MODEL}@${from}`,
    model: MODEL,
    provider: "mistral",
    from,
    old: { prices: { prompt: "1", completion: "2" }, price_tiers: [] },
    new: { prices: { prompt: "1.1", completion: "2.2" }, price_tiers: [] },
    is_rise: true,
    requests: 1,
    cost_old_usd: usd(used),
    cost_new_usd: usd(later),
    is_at_least: false,
  });
  expect((await notices(ann)).map((each) => [at(each, "model"), at(each, "is_rise")])).toEqual([
    ["late/one", false],
    [MODEL, true],
  ]);
  // An organization that did not use the model gets no notice.
  expect(await notices(bob)).toEqual([]);
  const path = `/v1/models/${encodeURIComponent(MODEL)}`;
  const entry = (await get(gateway.url, { key, path })).json;
  expect(at(entry, "price_changes.0")).toMatchObject({ from, pricing: { prompt: "0.0000011" } });
  const before = await served();
  expect(costOf(before)).toBe(costAt(before, 1_000_000n, 2_000_000n));

  // The announced price takes effect about four seconds from now.
  const soonMs = Math.ceil((systemClock.nowMs() + 4_000) / 1_000) * 1_000;
  const soon = new Date(soonMs).toISOString().replace(".000Z", "Z");
  const text = readFileSync(file, "utf8");
  writeFileSync(file, text.replaceAll(from.replace(".000Z", "Z"), soon));
  await until("the day is near", async () => {
    gateway.running.reload();
    return (
      at((await get(gateway.url, { key, path })).json, "price_changes.0.from") ===
      soon.replace("Z", ".000Z")
    );
  });
  await until("the day has come", () => systemClock.nowMs() > soonMs + 250);
  const after = await served();
  expect(costOf(after)).toBe(costAt(after, 1_100_000n, 2_200_000n));
  await nothingHeld(gateway, account);
  expect(await brokenBooks(gateway)).toEqual([]);
  await until("it is not announced any more", async () => (await notices(ann)).length === 1);
});

function usd(micro: bigint): string {
  return `${micro / 1_000_000n}.${String(micro % 1_000_000n).padStart(6, "0")}`;
}
