import { describe, expect, test } from "vitest";
import type { AttemptId, ModelId, RequestId } from "../../kernel/core/ids.ts";
import { microUsd, picoUsd } from "../../kernel/core/money.ts";
import { entryLine, wholePeriod, ENTRY_COLUMNS } from "./settlement-entries.ts";
import { readProviderClaim, type ClaimLine, type ProviderClaim } from "./settlement-file.ts";
import { planPeriods, ZERO_SETTLEMENT_SUMS } from "./settlement-plan.ts";
import { reconcile, type Reconciliation } from "./settlement-reconcile.ts";
import type { ProviderPeriod, SettlementEntry } from "./settlement-rows.ts";

function requestId(n: number): RequestId {
  return `01930000-0000-7000-8000-${String(n).padStart(12, "0")}` as RequestId;
}

/** Entries for attempts 1, 2, … of requests 1, 2, …; a cost of null is an unobserved end. */
function entries(...costs: readonly (bigint | null)[]): SettlementEntry[] {
  return costs.map((cost, i) => ({
    attemptId: BigInt(i + 1) as AttemptId,
    requestId: requestId(i + 1),
    modelId: "acme/small" as ModelId,
    upstreamModelId: "small",
    admittedAtMs: 0,
    closedAtMs: 0,
    state: cost === null ? "unknown_after_crash" : cost === 0n ? "void" : "settled",
    basis: cost === null ? "unknown_after_crash" : "reported",
    usage: null,
    costPicoUsd: cost === null ? null : picoUsd(cost),
    debitMicroUsd: microUsd(0n),
    overrunMicroUsd: microUsd(0n),
    marginMicroUsd: microUsd(0n),
    isLate: false,
    isCorrected: false,
  }));
}

function line(id: number | string, cost: bigint, of: ClaimLine["of"] = "attempt"): ClaimLine {
  return { of, id: String(id), costPicoUsd: picoUsd(cost) };
}

async function compare(
  ours: readonly SettlementEntry[],
  claim: Partial<ProviderClaim>,
): Promise<Reconciliation> {
  const total = ours.reduce((sum, { costPicoUsd }) => sum + (costPicoUsd ?? 0n), 0n);
  const theirs = claim.lines?.reduce((sum, each) => sum + each.costPicoUsd, 0n) ?? 0n;
  return await reconcile({ totalPicoUsd: picoUsd(theirs), ...claim }, picoUsd(total), blocks(ours));
}

async function* blocks(
  ours: readonly SettlementEntry[],
): AsyncGenerator<readonly SettlementEntry[]> {
  for (const entry of ours) yield await Promise.resolve([entry]);
}

describe("a provider's statement", () => {
  test("is equal with the same lines, and may leave out attempts that cost nothing", async () => {
    const found = await compare(entries(5n, 0n, null, 7n), { lines: [line(1, 5n), line(4, 7n)] });
    expect(found).toMatchObject({
      isEqual: true,
      differencePicoUsd: 0n,
      firstDiffering: [],
      lines: { compared: 2, differing: 0, onlyTheirs: 0, onlyOurs: 0, unknownClaimed: 0 },
    });
  });

  test("without lines is compared by its total", async () => {
    const equal = await compare(entries(5n), { totalPicoUsd: picoUsd(5n) });
    expect(equal).toMatchObject({ isEqual: true, lines: null });
    const more = await compare(entries(5n), { totalPicoUsd: picoUsd(6n) });
    expect(more).toMatchObject({ isEqual: false, differencePicoUsd: 1n, ourPicoUsd: 5n });
  });

  test("differs by lines with another cost, on one side only, or of an attempt with unknown end", async () => {
    const lines = [line(1, 6n), line(9, 1n), line(3, 4n), line(4, 0n), line(4, 2n)];
    const found = await compare(entries(5n, 3n, null, 2n), { lines });
    expect(found.lines).toEqual({
      compared: 4,
      differing: 1,
      onlyTheirs: 1,
      onlyOurs: 1,
      unknownClaimed: 1,
    });
    expect(found.firstDiffering.map((each) => [each.kind, each.id])).toEqual([
      ["only_ours", "2"],
      ["differs", "1"],
      ["only_theirs", "9"],
      ["unknown_claimed", "3"],
    ]);
    expect(found).toMatchObject({ isEqual: false, differencePicoUsd: 3n });
  });

  test("differs even if its errors cancel out", async () => {
    const found = await compare(entries(5n, 3n), { lines: [line(1, 3n), line(2, 5n)] });
    expect(found).toMatchObject({ isEqual: false, differencePicoUsd: 0n });
  });

  test("differs if it bills one attempt twice", async () => {
    const found = await compare(entries(5n), { lines: [line(1, 5n), line(1, 5n)] });
    expect(found.firstDiffering).toEqual([
      { kind: "differs", of: "attempt", id: "1", theirPicoUsd: 10n, ourPicoUsd: 5n },
    ]);
  });

  test("that names requests is compared with the sums of their attempts", async () => {
    const ours = entries(5n, 0n, 3n, null).map((each) => ({ ...each, requestId: requestId(1) }));
    const lines = [line(requestId(1), 8n, "request")];
    expect(await compare(ours, { lines })).toMatchObject({ isEqual: true });
    const more = await compare(ours, { lines: [line(requestId(1), 9n, "request")] });
    expect(more.firstDiffering).toMatchObject([{ kind: "unknown_claimed", ourPicoUsd: 8n }]);
  });

  test("differs if its lines do not add up to its total", async () => {
    const claim = { totalPicoUsd: picoUsd(8n), lines: [line(1, 5n), line(2, 4n)] };
    const found = await compare(entries(5n, 3n), claim);
    expect(found).toMatchObject({ isEqual: false, differencePicoUsd: 0n, theirLinesPicoUsd: 9n });
  });

  test("is answered with the first twenty differences and the number of all", async () => {
    const found = await compare(entries(...Array.from({ length: 30 }, () => 1n)), { lines: [] });
    expect(found.lines?.onlyOurs).toBe(30);
    expect(found.firstDiffering).toHaveLength(20);
  });
});

describe("the CSV of a period's attempts", () => {
  test("can be read back as a statement that equals the period", async () => {
    const ours = entries(5n, 123_456_789_012_345n, 0n);
    const text = [ENTRY_COLUMNS, ...ours.map(entryLine)].join("\n");
    const outcome = readProviderClaim(text);
    if (outcome.kind !== "read") throw new Error(outcome.problem);
    expect(await compare(ours, outcome.claim)).toMatchObject({ isEqual: true });
  });

  test("has exact amounts, empty cells for unknown values, and no formulas", () => {
    const [known, unknown] = entries(1_500_000n, null).map((each) => ({
      ...each,
      upstreamModelId: '=HYPERLINK("x","y")',
      modelId: "@sum,1" as ModelId,
    }));
    if (known === undefined || unknown === undefined) throw new Error("no entries");
    const usage = {
      prompt: 1,
      cachedPrompt: 2,
      cacheWrite: 3,
      completion: 4,
      internalReasoning: 5,
      cacheWrite1h: 2,
    };
    const epoch = "1970-01-01T00:00:00.000Z";
    const names = `"'@sum,1","'=HYPERLINK(""x"",""y"")"`;
    const more = {
      usage,
      debitMicroUsd: microUsd(1n),
      overrunMicroUsd: microUsd(2n),
      marginMicroUsd: microUsd(3n),
    };
    expect(entryLine({ ...known, ...more, isLate: true })).toBe(
      `1,${requestId(1)},${epoch},${epoch},${names},settled,reported,1,2,3,4,5,1500000,0.000001500000,0.000001,0.000002,yes,no,2,0.000003`,
    );
    expect(entryLine({ ...unknown, isCorrected: true })).toBe(
      `2,${requestId(2)},${epoch},${epoch},${names},unknown_after_crash,unknown_after_crash,,,,,,,,0.000000,0.000000,no,yes,,0.000000`,
    );
    expect(ENTRY_COLUMNS.split(",")).toHaveLength(21);
  });

  test("fails if attempts of the period are missing or cost something else", async () => {
    const [planned] = planPeriods({
      terms: { mode: "arrears", interval: "daily" },
      last: undefined,
      throughMs: Date.parse("2026-01-02"),
      facts: [
        {
          endedMs: Date.parse("2026-01-01"),
          closedMs: Date.parse("2026-01-01"),
          admittedMs: Date.parse("2026-01-01"),
          modelId: "acme/small",
          upstreamModelId: "small",
          sums: { ...ZERO_SETTLEMENT_SUMS, attempts: 2n, costPicoUsd: picoUsd(8n) },
        },
      ],
    }).periods;
    if (planned === undefined) throw new Error("no period");
    const period: ProviderPeriod = { ...planned, providerId: "p", closedAtMs: 0, payment: null };
    const read = async (ours: readonly SettlementEntry[]): Promise<number> => {
      let count = 0;
      for await (const block of wholePeriod(period, blocks(ours))) count += block.length;
      return count;
    };
    expect(await read(entries(5n, 3n))).toBe(2);
    await expect(read(entries(8n))).rejects.toMatchObject({ kind: "not_whole" });
    await expect(read(entries(5n, 4n))).rejects.toMatchObject({ kind: "not_whole" });
  });
});
