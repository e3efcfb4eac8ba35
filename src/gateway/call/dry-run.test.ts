import * as fc from "fast-check";
import { expect, test } from "vitest";

import { quickOrDeep } from "../../../test/support/depth.ts";
import { simulatorManifest, textModel, tokenPrices } from "../../../test/support/gateway.ts";
import {
  openRecipe,
  promisesOnly,
  RECIPE_PRINCIPAL,
  RecordedExchange,
} from "../../../test/support/recipe.ts";
import type { Principal } from "../accounts/principal.ts";
import { microUsd, type MicroUsd } from "../../kernel/core/money.ts";
import type { Ledger, ReserveOutcome, ReserveRow } from "../../ledger/ledger-store.ts";
import type {
  Balance,
  MonthSpend,
  PeriodSpend,
  SpendReads,
} from "../../ledger/postgres-credit-store.ts";
import { chatOn } from "../../formats/modality/chat/index.ts";
import { wires } from "../../formats/wire/wires.ts";
import { previewCall, serveCall } from "./call.ts";
import { bindDryRun, lookingPorts } from "./serve-route.ts";

const PROVIDERS = ["first", "second", "third"];
const MANIFESTS = PROVIDERS.map((provider, priority) =>
  simulatorManifest({
    provider,
    dialect: priority === 1 ? "wire_b" : "wire_a",
    priority,
    baseUrl: `https://${provider}.example/v1`,
    models: [textModel("m/all"), ...(priority === 0 ? [textModel("m/one")] : [])],
  }),
);
const RESET_MS = Date.UTC(2026, 1, 1);
/** The end of the week in which the month ends; it is later than the month's end, `RESET_MS`. */
const WEEK_RESET_MS = Date.UTC(2026, 1, 2);

interface Caps<T> {
  readonly org: T;
  readonly key: T;
  readonly week: T;
  readonly day: T;
}

/** A minimal ledger, with the reads from which the dry run must predict each `reserve`. */
class Books implements SpendReads {
  readonly #credit: bigint;
  readonly #caps: Caps<MicroUsd | null>;
  #held = 0n;

  constructor(credit: bigint, caps: Caps<bigint | null>) {
    this.#credit = credit;
    const capOf = (cap: bigint | null): MicroUsd | null => (cap === null ? null : microUsd(cap));
    const { org, key, week, day } = caps;
    this.#caps = { org: capOf(org), key: capOf(key), week: capOf(week), day: capOf(day) };
  }

  balance(): Promise<Balance> {
    const heldMicroUsd = microUsd(this.#held);
    return Promise.resolve({ settledMicroUsd: microUsd(this.#credit), heldMicroUsd });
  }

  monthSpend(_orgId: string, keyId?: string): Promise<MonthSpend> {
    return Promise.resolve({
      spentMicroUsd: microUsd(0n),
      inFlightMicroUsd: microUsd(this.#held),
      capMicroUsd: this.#caps[keyId === undefined ? "org" : "key"],
      resetAtMs: RESET_MS,
    });
  }

  async periodSpend(orgId: string, keyId = "key"): Promise<readonly PeriodSpend[]> {
    const month = await this.monthSpend(orgId, keyId);
    return (["week", "day"] as const).flatMap((period) => {
      const capMicroUsd = this.#caps[period];
      const resetAtMs = period === "week" ? WEEK_RESET_MS : RESET_MS;
      return capMicroUsd === null ? [] : [{ ...month, keyId, period, capMicroUsd, resetAtMs }];
    });
  }

  reserve({ reserveMicroUsd: needed }: ReserveRow): ReserveOutcome {
    for (const name of ["week", "key", "day", "org"] as const) {
      const capMicroUsd = this.#caps[name];
      if (capMicroUsd === null || this.#held + needed <= capMicroUsd) continue;
      const spent = { settledMicroUsd: microUsd(0n), inFlightMicroUsd: microUsd(this.#held) };
      const scope = name === "org" ? "org" : "key";
      const period = name === "week" || name === "day" ? name : "month";
      const resetAtMs = period === "week" ? WEEK_RESET_MS : RESET_MS;
      return { kind: "cap", scope, period, capMicroUsd, ...spent, resetAtMs };
    }
    if (needed > this.#credit - this.#held) {
      const availableMicroUsd = microUsd(this.#credit - this.#held);
      return { kind: "low_balance", availableMicroUsd, heldMicroUsd: microUsd(this.#held) };
    }
    this.#held += needed;
    return { kind: "reserved" };
  }
}

const amount = fc.bigInt(0n, 4_000n);
const cap = fc.option(amount, { freq: 1 });
const rareCap = fc.oneof(
  { weight: 3, arbitrary: fc.constant(null) },
  { weight: 1, arbitrary: amount },
);
const routing = fc.constantFrom(
  { only: ["second"] },
  { ignore: ["first"] },
  { allow_fallbacks: false },
);
const request = fc.record({
  model: fc.constantFrom("m/all", "m/one", "m/none"),
  maxTokens: fc.constantFrom(1, 50, 200),
  provider: fc.option(routing, { nil: undefined }),
});
const step = fc.oneof(
  fc.record({ what: fc.constant("call" as const), request }),
  fc.record({ what: fc.constant("fail" as const), at: fc.nat(3) }),
  fc.record({ what: fc.constant("throttle" as const), at: fc.nat(3), seconds: fc.nat(30) }),
  fc.record({ what: fc.constant("wait" as const), ms: fc.nat(40_000) }),
);

/** Finds, in the refusal for too low a balance, how many output tokens the balance pays for. */
const FITTING_OUTPUT = /what fits is at most (\d+) output tokens with this balance/;

test("a request ends as its dry run predicts, and the max_tokens that a balance refusal names is admitted", async () => {
  const steps = fc.array(step, { minLength: 1, maxLength: 20 });
  const account = fc.record({
    credit: amount,
    caps: fc.record({ org: cap, key: cap, week: rareCap, day: rareCap }),
    requestsPerMinute: fc.integer({ min: 1, max: 6 }),
    funded: fc.boolean(),
  });
  let refused = 0;
  let sent = 0;
  let lowerings = 0;
  await fc.assert(
    fc.asyncProperty(account, steps, async ({ credit, caps, ...limited }, list) => {
      const clock = { ms: 0 };
      const recipe = openRecipe(
        { nowMs: () => 1_767_225_600_000 + clock.ms, monotonicMs: () => clock.ms },
        MANIFESTS,
      );
      const books = new Books(credit, caps);
      const ledger: Ledger = {
        ...recipe.deps.ledger,
        reserve: (row) => Promise.resolve(books.reserve(row)),
      };
      const ports = { ...recipe.deps, ledger };
      const looking = lookingPorts(ports, books);
      const principal: Principal = { ...RECIPE_PRINCIPAL, ...limited };
      const { deployments } = ports.catalog.current;
      const kind = chatOn(wires.get("wire_a"), wires);
      for (const each of list) {
        if (each.what === "wait") clock.ms += each.ms;
        if (each.what === "fail") {
          const { id } = deployments[each.at % deployments.length] ?? fail();
          for (let n = 0; n < 10; n += 1) ports.health.report(id, "strike", clock.ms, clock.ms);
        }
        if (each.what === "throttle") {
          const { pool } = deployments[each.at % deployments.length] ?? fail();
          ports.pools.throttled(pool, each.seconds, clock.ms);
        }
        if (each.what !== "call") continue;
        const { model, maxTokens, provider } = each.request;
        const messages = [{ role: "user", content: "hi" }];
        const body = { model, max_tokens: maxTokens, messages, ...(provider && { provider }) };
        const foreseen = await previewCall(looking, new RecordedExchange(body, principal), kind);
        // A dry run leaves nothing behind, so a second one has the same result.
        const again = await previewCall(looking, new RecordedExchange(body, principal), kind);
        expect(again).toEqual(foreseen);
        const client = new RecordedExchange(body, principal);
        const before = recipe.sent.length;
        void serveCall(ports, client, kind);
        await promisesOnly();
        expect(client.refusal).toEqual(foreseen);
        const [, fitting] = FITTING_OUTPUT.exec(foreseen?.message ?? "") ?? [];
        if (fitting !== undefined) {
          const smaller = { ...body, max_tokens: Number(fitting) };
          const lowered = new RecordedExchange(smaller, principal);
          if ((await previewCall(looking, lowered, kind)) !== undefined) fail();
          lowerings += 1;
        }
        expect(recipe.sent.length - before).toBe(foreseen === undefined ? 1 : 0);
        if (foreseen === undefined) sent += 1;
        else refused += 1;
      }
    }),
    { numRuns: quickOrDeep(100, 1_000) },
  );
  expect(Math.min(sent, refused)).toBeGreaterThan(10);
  expect(lowerings).toBeGreaterThan(5);
});

test("a dry run states the hold and the dropped fields of the candidate that a call is sent to, past a full pool", async () => {
  const dear = { pricing: tokenPrices({ prompt: 2, completion: 20 }) };
  const manifests = [
    simulatorManifest({
      provider: "paused",
      dialect: "wire_a",
      baseUrl: "https://paused.example/v1",
      models: [textModel("m/both")],
    }),
    simulatorManifest({
      provider: "dear",
      dialect: "wire_b",
      priority: 1,
      baseUrl: "https://dear.example/v1",
      models: [textModel("m/both", dear)],
    }),
  ];
  const clock = { nowMs: () => 1_767_225_600_000, monotonicMs: () => 0 };
  const recipe = openRecipe(clock, manifests);
  const held: bigint[] = [];
  const ledger: Ledger = {
    ...recipe.deps.ledger,
    reserve: ({ reserveMicroUsd }) => {
      held.push(reserveMicroUsd);
      return Promise.resolve({ kind: "reserved" });
    },
  };
  const records = new Books(1_000_000n, { org: null, key: null, week: null, day: null });
  const ports = { ...recipe.deps, ledger, records };
  const [paused = fail()] = ports.catalog.current.find("m/both")?.deployments ?? [];
  ports.pools.throttled(paused.pool, 30, 0);
  const kind = chatOn(wires.get("wire_a"), wires);
  const messages = [{ role: "user", content: "hi" }];
  const body = { model: "m/both", max_tokens: 50, seed: 7, messages };
  const asking = new RecordedExchange(body);
  await bindDryRun(kind)(ports, asking);
  void serveCall(ports, new RecordedExchange(body), kind);
  await promisesOnly();
  expect(recipe.sent.map(({ deployment }) => deployment.providerId)).toEqual(["dear"]);
  expect(held).toHaveLength(1);
  expect(JSON.parse(asking.text)).toMatchObject({
    candidates: [{ provider: "paused" }, { provider: "dear" }],
    estimate: { reserve_micro_usd: Number(held[0]) },
    would_admit: true,
    dropped_params: ["seed"],
  });
});

function fail(): never {
  throw new Error("the catalog has no deployments, or a request that was named is refused");
}
