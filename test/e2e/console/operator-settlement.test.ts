import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { beforeAll, describe, expect, test } from "vitest";

import { formatExactUsd } from "../../../src/kernel/core/money.ts";
import type { RecordedChange } from "../../../src/kernel/index.ts";
import { at, listAt, textAt } from "../../support/http-call.ts";
import { serveYesterday, YESTERDAY } from "../../support/served-yesterday.ts";
import { runSql } from "../../support/sql.ts";
import { withProviderConsole, withPerson } from "./provider-fixture.ts";

const SETTLEMENT = "/api/operator/settlement";
const PERIOD = `${SETTLEMENT}/prov-a/${YESTERDAY}`;
const RECONCILE = `POST ${PERIOD}/reconcile`;

const fixture = withProviderConsole({ settings: { operators: "boss@example.com" } });
const boss = withPerson(fixture, "boss");

beforeAll(async () => {
  await serveYesterday(fixture.gateway, "test/a", ["one", "two words", "three words here"]);
});

/** The settlement's entries in the change log, newest first. */
function changes(actionPrefix: string): Promise<readonly RecordedChange[]> {
  return fixture.gateway.backend.changeStore.list({ actionPrefix, limit: 20 });
}

/** Our own attempts of the period as a provider would bill them. */
async function ourLines(): Promise<string[]> {
  const { settlementStore } = fixture.gateway.backend;
  const name = { providerId: "prov-a", startMs: Date.parse(YESTERDAY) };
  const statement = await settlementStore.statement(name);
  if (statement === undefined) throw new Error("the period is not closed");
  const lines: string[] = [];
  for await (const block of settlementStore.entries(statement.period)) {
    for (const { attemptId, costPicoUsd } of block) {
      if (costPicoUsd !== null) lines.push(`${attemptId},${formatExactUsd(costPicoUsd)}`);
    }
  }
  return lines;
}

function csv(lines: readonly string[]): string {
  return ["attempt_id,cost_usd", ...lines, ""].join("\n");
}

describe("closing periods", () => {
  test("closes nothing while a manifest is invalid, and names that manifest", async () => {
    const file = join(fixture.gateway.config.manifestsDir, "broken.json");
    writeFileSync(file, "{}");
    const refused = await boss.ask(`POST ${SETTLEMENT}/close`);
    rmSync(file);
    expect(refused.status).toBe(409);
    expect(textAt(refused.json, "error.message")).toMatch(
      /^nothing was closed: .*\n.*broken\.json/,
    );
    expect(await changes("settlement")).toEqual([]);
  });

  test("closes ended periods by the manifests' terms, once, and logs the operator", async () => {
    const none = await boss.do(`POST ${SETTLEMENT}/close`, { body: { provider_id: "prov-b" } });
    expect(none.json).toMatchObject({ closed: [], closed_count: 0 });
    const { json, headers } = await boss.do(`POST ${SETTLEMENT}/close`);
    expect(json).toMatchObject({ closed_count: 1, unlisted: [] });
    expect(listAt(json, "closed")).toEqual([
      expect.objectContaining({
        provider: "prov-a",
        start: YESTERDAY,
        mode: "arrears",
        attempts: 3,
        payment: null,
      }),
    ]);
    const again = await boss.do(`POST ${SETTLEMENT}/close`);
    expect(again.json).toMatchObject({ closed: [], closed_count: 0 });
    const recorded = await changes("settlement.close");
    expect(recorded).toHaveLength(1);
    expect(recorded[0]).toMatchObject({ orgId: null, target: `prov-a ${YESTERDAY}` });
    expect(recorded[0]?.by).toMatchObject({ kind: "operator", requestId: headers["x-request-id"] });
    const shown = await boss.do(`GET ${SETTLEMENT}`);
    expect(listAt(shown.json, "periods")).toEqual(listAt(json, "closed"));
  });
});

test("a deposit counts once per reference, and is refused with another amount or a mistyped provider", async () => {
  const route = `POST ${SETTLEMENT}/prov-b/deposits`;
  const body = { amount_usd: "500.00", ref: "wire-4712" };
  const first = await boss.do(route, { body });
  expect(first.json).toEqual({ is_new: true, deposit_usd: "500.000000" });
  const again = await boss.do(route, { body });
  expect(again.json).toEqual({ is_new: false, deposit_usd: "500.000000" });
  const other = await boss.ask(route, { body: { ...body, amount_usd: "1.00" } });
  expect([other.status, textAt(other.json, "error.field")]).toEqual([409, "ref"]);
  const mistyped = await boss.ask(route.replace("prov-b", "prov-bb"), { body });
  expect([mistyped.status, textAt(mistyped.json, "error.field")]).toEqual([404, "provider_id"]);
  const recorded = await changes("settlement.deposit");
  expect(recorded).toHaveLength(1);
  expect(recorded[0]).toMatchObject({
    target: "prov-b",
    by: { kind: "operator", requestId: first.headers["x-request-id"] },
    after: { amount_usd: "500.000000", ref: "wire-4712" },
  });
});

describe("a provider's own statement", () => {
  test("with the same lines as ours is equal, and is recorded once with the period", async () => {
    const statement = csv(await ourLines());
    const { json, headers } = await boss.do(RECONCILE, { body: { statement } });
    expect(json).toMatchObject({
      is_equal: true,
      difference_usd: "0.000000000000",
      their_lines_usd: null,
      lines: { compared: 3, differing: 0, only_theirs: 0, only_ours: 0, unknown_claimed: 0 },
      first_differences: [],
    });
    await boss.do(RECONCILE, { body: { statement } });
    const shown = await boss.do(`GET ${PERIOD}`);
    expect(listAt(shown.json, "reconciliations")).toEqual([
      expect.objectContaining({ differing_lines: 0, their_usd: textAt(json, "their_usd") }),
    ]);
    const recorded = await changes("settlement.reconcile");
    expect(recorded).toHaveLength(1);
    expect(recorded[0]?.by).toMatchObject({ kind: "operator", requestId: headers["x-request-id"] });
  });

  test("is compared line by line, as JSON too, and changes no amount", async () => {
    const [first = "", second = ""] = await ourLines();
    const [id = ""] = first.split(",");
    const [otherId, otherCost] = second.split(",");
    const statement = JSON.stringify({
      lines: [
        { attempt_id: id, cost_usd: "9.5" },
        { attempt_id: otherId, cost_usd: otherCost },
        { attempt_id: "7", cost_usd: "0.25" },
      ],
    });
    const before = (await boss.do(`GET ${SETTLEMENT}`)).json;
    const { json } = await boss.do(RECONCILE, { body: { statement } });
    expect(json).toMatchObject({
      is_equal: false,
      lines: { compared: 3, differing: 1, only_theirs: 1, only_ours: 1, unknown_claimed: 0 },
    });
    expect(listAt(json, "first_differences")).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ kind: "differs", id, their_usd: "9.500000000000" }),
        expect.objectContaining({ kind: "only_theirs", id: "7", our_usd: null }),
        expect.objectContaining({ kind: "only_ours", of: "attempt", their_usd: null }),
      ]),
    );
    expect((await boss.do(`GET ${SETTLEMENT}`)).json).toEqual(before);
    const shown = await boss.do(`GET ${PERIOD}`);
    expect(at(listAt(shown.json, "reconciliations")[1], "differing_lines")).toBe(3);
  });

  test("that cannot be parsed is refused with the line number and the field", async () => {
    const refused = await boss.ask(RECONCILE, { body: { statement: csv(["7,a lot"]) } });
    expect(refused.status).toBe(400);
    expect(textAt(refused.json, "error.field")).toBe("statement");
    expect(textAt(refused.json, "error.message")).toContain("line 2: cost_usd");
  });

  test("that is too large for the console is refused with the command to use, and not recorded", async () => {
    const many = csv(Array.from({ length: 20_001 }, (_, n) => `${n},0.1`));
    const large = csv([`7,${"0".repeat(1024 * 1024)}`]);
    for (const statement of [many, large]) {
      const refused = await boss.ask(RECONCILE, { body: { statement } });
      expect([refused.status, textAt(refused.json, "error.field")]).toEqual([400, "statement"]);
      expect(textAt(refused.json, "error.message")).toContain("command settlement reconcile");
    }
    const huge = await boss.ask(RECONCILE, { body: { statement: "0".repeat(3 * 1024 * 1024) } });
    expect(huge.status).toBe(413);
    expect(await changes("settlement.reconcile")).toHaveLength(2);
  });

  test("of a period with more than 100,000 attempts is compared by its total alone", async () => {
    const add = (more: number): Promise<void> => {
      const sql = `update provider_period set attempts = attempts + ${more}, settled = settled + ${more}`;
      return runSql(fixture.gateway, `set session_replication_role = replica; ${sql}`, []);
    };
    await add(100_000);
    const refused = await boss.ask(RECONCILE, { body: { statement: csv(await ourLines()) } });
    const total = await boss.do(RECONCILE, { body: { statement: '{"total_usd":"1.5"}' } });
    await add(-100_000);
    expect(refused.status).toBe(400);
    expect(textAt(refused.json, "error.message")).toContain("more than 100,000 attempts");
    expect(total.json).toMatchObject({ their_usd: "1.500000000000", lines: null });
  });
});

test("a settlement period is paid once, and the change log names the operator", async () => {
  const body = { ref: "wire-4711" };
  for (const is_new of [true, false]) {
    const { json } = await boss.do(`POST ${PERIOD}/payment`, { body });
    expect(json).toMatchObject({ is_new, period: { payment: body } });
  }
  expect(await changes("settlement.pay")).toMatchObject([{ by: { kind: "operator" } }]);
});
