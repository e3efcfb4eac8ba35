import type { PromptRow } from "./kept-search.ts";

const HEAD = [
  "prompt_number",
  "prompt",
  "model",
  "answered",
  "answer",
  "judged_best",
  "cost_usd",
  "ttft_ms",
  "total_ms",
];

/** Writes the answers as CSV, one per line. Escapes what a spreadsheet would run as a formula. */
export function answersCsv(rows: readonly PromptRow[], models: readonly string[]): string {
  const lines = rows.flatMap(({ at, prompt, answers, winner }) =>
    models.flatMap((model) => {
      const answer = answers.get(model);
      if (answer === undefined) return [];
      const { text, cost_usd: cost, ttft_ms: ttft, total_ms: total } = answer;
      const best = winner === undefined ? null : winner === model ? "yes" : "no";
      return [
        [
          String(at + 1),
          plain(prompt ?? null),
          plain(model),
          text === null ? "no" : "yes",
          plain(text),
          best,
          cost,
          ttft === null ? null : String(ttft),
          total === null ? null : String(total),
        ],
      ];
    }),
  );
  return [HEAD, ...lines].map((fields) => `${fields.map(renderField).join(",")}\r\n`).join("");
}

function plain(text: string | null): string | null {
  return text !== null && BEGINS_FORMULA.test(text) ? `'${text}` : text;
}

/* Matches the start of a formula, like the pattern in the server's `csv.ts`; a test checks it. */
const BEGINS_FORMULA = /^[\s\0]*[=+\-@＝＋－＠]|^[\t\r\n\0]/;
const NEEDS_QUOTES = /[",\r\n]|^\s|\s$/;

function renderField(field: string | null): string {
  if (field === null) return "";
  return field === "" || NEEDS_QUOTES.test(field) ? `"${field.replaceAll('"', '""')}"` : field;
}
