import { csvLine, plainCell } from "../../../../src/kernel/core/csv.ts";
import type { PromptRow } from "./kept-search.ts";

const HEAD = "prompt_number,prompt,model,answered,answer,judged_best,cost_usd,ttft_ms,total_ms";

/** Writes one line of CSV per answer. Escapes text that a spreadsheet would run as a formula. */
export function answersCsv(rows: readonly PromptRow[], models: readonly string[]): string {
  const lines = rows.flatMap(({ at, prompt, answers, winner }) =>
    models.flatMap((model) => {
      const answer = answers.get(model);
      if (answer === undefined) return [];
      const { text, cost_usd: cost, ttft_ms: ttft, total_ms: total } = answer;
      const best = winner === undefined ? null : winner === model ? "yes" : "no";
      return csvLine([
        String(at + 1),
        prompt === undefined ? null : plainCell(prompt),
        plainCell(model),
        text === null ? "no" : "yes",
        text === null ? null : plainCell(text),
        best,
        cost,
        ttft === null ? null : String(ttft),
        total === null ? null : String(total),
      ]);
    }),
  );
  return [HEAD, ...lines].map((line) => `${line}\r\n`).join("");
}
