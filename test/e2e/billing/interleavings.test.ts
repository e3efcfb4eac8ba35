import * as fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import type { Membership } from "../../../src/ledger/ledger-batch-store.ts";
import { withBillingFixture } from "../../support/billing-fixture.ts";
import {
  BillingModel,
  type BillingCommand,
  type Update,
  weighing,
} from "../../support/billing-model.ts";
import { quickOrDeep, seedOf } from "../../support/depth.ts";
import { pinPrices } from "../../support/ledger-rows.ts";

/** `PROPERTY_RUNS=2000` searches longer; `PROPERTY_SEED=<reported seed>` repeats a search. */
const RUNS = Number(process.env["PROPERTY_RUNS"] ?? quickOrDeep(4, 400));
const SEED = seedOf("billing interleavings");
const LEASE_MS = 3_600_000;
/** The situations that every search must meet; the sequences in `STORIES` count, too. */
const EVERY_SIGHT = ["disputed", "low_balance", "owed at the end", "paid", "reserved"];

// Events are sent only when the search sends them.
const fixture = withBillingFixture({ delivery: () => [] });
let member: Membership;

beforeAll(async () => {
  await pinPrices(fixture.backend);
  member = await fixture.backend.ledgerBatchStore.join("one", LEASE_MS);
});

test("whatever the order and number of payment events, the balance is payments minus refunds and usage", async () => {
  const seen = new Set<string>();
  const property = fc.asyncProperty(steps, async ({ steps, order }) => {
    const model = await BillingModel.make(fixture, member);
    try {
      for (const step of steps) await model.run(step);
      await model.receiveAll(order);
      await model.check();
    } finally {
      await model.end();
    }
    for (const sight of model.seen) seen.add(sight);
  });
  await fc.assert(property, { numRuns: RUNS, seed: SEED, examples: STORIES });
  expect([...seen]).toEqual(expect.arrayContaining(EVERY_SIGHT));
}, 3_600_000);

/** Sequences that every search runs: one in which spent credit is disputed, one without trouble. */
const STORIES: [{ readonly steps: BillingCommand[]; readonly order: number[] }][] = [
  [
    {
      steps: [
        { do: "buy", dollars: 5 },
        { do: "pay", pick: 0, isSlow: false },
        { do: "look", pick: 0, by: 0 },
        { do: "reserve", cents: 500 },
        { do: "reserve", cents: 100 },
        { do: "settle", pick: 0, cents: 500 },
        { do: "dispute", pick: 0, cents: 500 },
      ],
      order: [5, 4, 3, 2, 1],
    },
  ],
  [
    {
      steps: [
        { do: "buy", dollars: 5 },
        { do: "pay", pick: 0, isSlow: false },
      ],
      order: [],
    },
  ],
];

const pick = fc.nat(20);
const by = fc.constantFrom(0 as const, 1 as const);
const cents = fc.integer({ min: 1, max: 2_000 });

const update: fc.Arbitrary<Update> = fc.oneof(
  weighing(8, { do: fc.constant("deliver" as const), pick }),
  weighing(3, { do: fc.constant("look" as const), pick, by }),
  weighing(1, { do: fc.constant("round" as const), by }),
  weighing(4, { do: fc.constant("reserve" as const), cents }),
  weighing(3, { do: fc.constant("settle" as const), pick, cents }),
);

const command: fc.Arbitrary<BillingCommand> = fc.oneof(
  weighing(3, { do: fc.constant("buy" as const), dollars: fc.integer({ min: 5, max: 20 }) }),
  weighing(5, { do: fc.constant("pay" as const), pick, isSlow: fc.boolean() }),
  weighing(2, { do: fc.constant("arrive" as const), pick, isPaid: fc.boolean() }),
  weighing(1, { do: fc.constant("expire" as const), pick }),
  weighing(3, { do: fc.constant("refund" as const), pick, cents }),
  weighing(2, { do: fc.constant("fail refund" as const), pick }),
  weighing(3, { do: fc.constant("dispute" as const), pick, cents }),
  weighing(2, { do: fc.constant("close dispute" as const), pick, isWon: fc.boolean() }),
  weighing(1, { do: fc.constant("wait" as const) }),
  { weight: 14, arbitrary: update },
  weighing(5, {
    do: fc.constant("at once" as const),
    update: fc.array(update, { minLength: 2, maxLength: 6 }),
  }),
);

const buying = fc.record({
  do: fc.constant("buy" as const),
  dollars: fc.integer({ min: 5, max: 20 }),
});

/** Steps that begin with purchases; in the end all events arrive in any order, or none arrives. */
const steps = fc.record({
  steps: fc
    .tuple(
      fc.array(buying, { minLength: 1, maxLength: 2 }),
      fc.array(command, { minLength: 5, maxLength: 40, size: "max" }),
    )
    .map(([first, rest]): BillingCommand[] => [...first, ...rest]),
  order: fc.oneof(fc.constant([]), fc.array(fc.nat(100), { minLength: 5, maxLength: 20 })),
});
