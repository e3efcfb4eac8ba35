import * as fc from "fast-check";
import { expect, test } from "vitest";

import { csvLine, plainCell } from "../../../../src/kernel/core/csv.ts";
import { answersCsv } from "./answers-csv.ts";
import { createKeptSearch, promptRows, withFetched, type KeptSearch } from "./kept-search.ts";

function kept(prompt: string, text: string | null): KeptSearch {
  return withFetched(createKeptSearch("search_1", "org_1", [prompt]), {
    held: true,
    answers: [{ prompt: 0, model: "test/a", text, cost_usd: "0.000012", ttft_ms: 3, total_ms: 9 }],
    verdicts: [{ prompt: 0, winner: "test/a", cost_usd: "0.000001" }],
    next: 2,
    lost: 0,
    has_more: false,
  });
}

test("the CSV file escapes any text like the files that the server writes", () => {
  const text = fc.oneof(fc.string(), fc.constantFrom("=1+1", "\t=x", '"a"', " b ", "a\r\nb", ""));
  fc.assert(
    fc.property(text, text, (prompt, answer) => {
      const csv = answersCsv(promptRows(kept(prompt, answer), 1), ["test/a", "test/b"]);
      const line = csvLine([
        "1",
        plainCell(prompt),
        "test/a",
        "yes",
        plainCell(answer),
        "yes",
        "0.000012",
        "3",
        "9",
      ]);
      expect(csv.slice(csv.indexOf("\r\n") + 2)).toBe(`${line}\r\n`);
    }),
  );
});

test("a model that did not answer has a line without a text", () => {
  const csv = answersCsv(promptRows(kept("p", null), 1), ["test/a"]);
  expect(csv).toContain("1,p,test/a,no,,yes,0.000012,3,9\r\n");
});

test("answers that were already fetched, or that the instance does not hold, change nothing", () => {
  const before = kept("p", "x");
  const again = { held: true, answers: before.answers, verdicts: [], next: 2, lost: 0 };
  expect(withFetched(before, { ...again, answers: [...again.answers], has_more: false })).toBe(
    before,
  );
  const elsewhere = { held: false, answers: [], verdicts: [], next: 9, lost: 0, has_more: false };
  expect(withFetched(before, elsewhere)).toBe(before);
});
