import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { csvLine } from "../../kernel/core/csv.ts";
import { formatExactUsd, picoUsd } from "../../kernel/core/money.ts";
import { readProviderClaim, type ProviderClaim } from "./settlement-file.ts";

const REQUEST = "01930000-0000-7000-8000-000000000001";

function read(text: string): ProviderClaim {
  const outcome = readProviderClaim(text);
  if (outcome.kind !== "read") throw new Error(outcome.problem);
  return outcome.claim;
}

function problemOf(text: string): string {
  const outcome = readProviderClaim(text);
  return outcome.kind === "unreadable" ? outcome.problem : "it was read";
}

describe("a statement in JSON", () => {
  test("has exact amounts, whether they are strings or numbers", () => {
    const text = `{"total_usd": 0.30000000001, "currency": "US\\"1\\"D", "lines": [
      {"attempt_id": 123456789012345678, "cost_usd": 0.1},
      {"attempt_id": "007", "cost_usd": "2e-11", "note": 1.5},
      {"request_id": "${REQUEST}", "cost_usd": 0.19999999999}]}`;
    expect(read(text)).toEqual({
      totalPicoUsd: 300_000_000_010n,
      lines: [
        { of: "attempt", id: "123456789012345678", costPicoUsd: 100_000_000_000n },
        { of: "attempt", id: "7", costPicoUsd: 20n },
        { of: "request", id: REQUEST, costPicoUsd: 199_999_999_990n },
      ],
    });
  });

  test("may have only a total, or only lines, which are added up", () => {
    expect(read('{"total_usd": "12"}')).toEqual({ totalPicoUsd: 12_000_000_000_000n });
    const lines = `[{"attempt_id":1,"cost_usd":"1"},{"attempt_id":2,"cost_usd":"-0.25"}]`;
    expect(read(`{"lines": ${lines}}`).totalPicoUsd).toBe(750_000_000_000n);
  });

  test.each([
    ["{", "it is not valid JSON"],
    ["{}", "neither total_usd nor lines"],
    ['{"lines": {}}', "lines must be a list"],
    ['{"total_usd": "1,5"}', "total_usd must be dollars such as 0.001932 with at most twelve"],
    ['{"total_usd": 0.0000000000001}', 'not "0.0000000000001"'],
    ['{"total_usd": null}', "not null"],
    ['{"total_usd": 1, "lines": [7]}', "lines[0] is not an object"],
    ['{"lines": [{"attempt_id":1,"cost_usd":1},{"cost_usd":1}]}', "lines[1]: attempt_id or"],
    ['{"lines": [{"attempt_id":"-1","cost_usd":1}]}', 'whole number, not "-1"'],
    ['{"lines": [{"request_id":"x","cost_usd":1}]}', 'what was billed; "x"'],
    ['{"lines": [{"attempt_id":1}]}', "lines[0]: cost_usd must be dollars"],
  ])("is refused if it is %s: %s", (text, problem) => {
    expect(problemOf(text)).toContain(problem);
  });
});

describe("a statement in CSV", () => {
  test("may have its columns in any order, with other columns beside them", () => {
    const text = `\uFEFFmodel,Cost_USD , attempt_id,request_id\r
"a ""b"", c",0.5,12,\r
\r
"two
lines",1e-3,,${REQUEST.toUpperCase()}`;
    expect(read(text)).toEqual({
      totalPicoUsd: 501_000_000_000n,
      lines: [
        { of: "attempt", id: "12", costPicoUsd: 500_000_000_000n },
        { of: "request", id: REQUEST, costPicoUsd: 1_000_000_000n },
      ],
    });
  });

  test.each([
    ["", "line 1: the header row must name cost_usd"],
    ["attempt_id,usd\n1,2", "line 1: the header row must name cost_usd"],
    ["cost_usd\n2", "attempt_id or request_id"],
    ["attempt_id,cost_usd\n1,2\n2,x", "line 3: cost_usd must be dollars"],
    ["attempt_id,cost_usd\n1,2\n2", "line 3 has 1 fields, the header 2"],
    ["attempt_id,cost_usd\n1,2\n2,3,4", "line 3 has 3 fields, the header 2"],
    ['note,attempt_id,cost_usd\n"a\nb",1,2\n\nx,y,2', "line 5: attempt_id must be a whole"],
    ['attempt_id,cost_usd\n1,2\n3,"4', "line 3: the quotes of a field do not match"],
    ['attempt_id,cost_usd\n1,"2"3', "line 2: the quotes of a field do not match"],
  ])("is refused if it is %j: %s", (text, problem) => {
    expect(problemOf(text)).toContain(problem);
  });

  test("is read with the values that were written", () => {
    const row = fc.record({
      note: fc.string({ unit: "binary" }),
      id: fc.bigInt(0n, 10n ** 18n),
      pico: fc.bigInt(-(10n ** 18n), 10n ** 20n),
    });
    fc.assert(
      fc.property(
        fc.array(row, { maxLength: 6 }),
        fc.constantFrom("\n", "\r\n"),
        (rows, lineBreak) => {
          const lines = rows.map(({ note, id, pico }) =>
            csvLine([note, `${id}`, formatExactUsd(picoUsd(pico))]),
          );
          const text = ["note,attempt_id,cost_usd", ...lines].join(lineBreak);
          expect(read(text).lines).toEqual(
            rows.map(({ id, pico }) => ({ of: "attempt", id: `${id}`, costPicoUsd: pico })),
          );
        },
      ),
    );
  });
});
