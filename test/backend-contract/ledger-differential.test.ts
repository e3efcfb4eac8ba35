import * as fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { pinPrices } from "../support/ledger-rows.ts";
import { KEYS_PER_ORG, LedgerWorld, ORGS, type LedgerCommand } from "../support/ledger-world.ts";
import { freshBackend, type FreshBackend } from "../support/postgres.ts";

/** `PROPERTY_RUNS=5000` searches longer. */
const RUNS = Number(process.env["PROPERTY_RUNS"] ?? 60);

let backend: FreshBackend;

beforeAll(async () => {
  backend = await freshBackend();
  await pinPrices(backend);
});
afterAll(() => backend.close());

test("the SQL functions and a ledger in plain memory agree on every command", async () => {
  let commands = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(command, { minLength: 5, maxLength: 40 }), async (list) => {
      const world = await LedgerWorld.make(backend);
      for (const step of list) await world.run(step);
      await world.compare();
      commands += list.length;
    }),
    { numRuns: RUNS },
  );
  expect(commands).toBeGreaterThan(RUNS * 5);
  for (const check of await backend.audit()) expect(check).toMatchObject({ violations: 0 });
}, 3_600_000);

const org = fc.nat(ORGS - 1);
const amount = fc.bigInt(0n, 40n);
const reserveSpec = fc.record({ org, key: fc.nat(KEYS_PER_ORG), amount });
const closeSpec = fc.record({
  pick: fc.nat(30),
  costPico: fc.bigInt(0n, 60_000_000n),
  kind: fc.constantFrom("usage" as const, "usage" as const, "void" as const),
});
const command: fc.Arbitrary<LedgerCommand> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant("reserve" as const), rows: some(reserveSpec) }),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constant("close" as const), rows: some(closeSpec) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("roll" as const),
      rows: some(
        fc
          .tuple(reserveSpec, fc.option(closeSpec))
          .map(([reserve, close]) => ({ ...reserve, close })),
      ),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("grant" as const),
      org,
      amount: fc.bigInt(1n, 100n),
      ref: fc.nat(6),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("cap" as const),
      org,
      key: fc.nat(KEYS_PER_ORG),
      cap: fc.option(fc.bigInt(1n, 120n)),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ do: "month" as const }) },
  { weight: 1, arbitrary: fc.constant({ do: "crash" as const }) },
);

function some<T>(one: fc.Arbitrary<T>): fc.Arbitrary<T[]> {
  return fc.array(one, { minLength: 1, maxLength: 12 });
}
