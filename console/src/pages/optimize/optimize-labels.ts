import type { OptimizeResult, OptimizeSearch } from "../../api/contract.ts";
import type { Tone } from "../../ui/badge.tsx";

export const OBJECTIVES: readonly {
  readonly value: OptimizeSearch["objective"];
  readonly label: string;
  readonly help: string;
}[] = [
  {
    value: "lowest_cost",
    label: "Lowest cost",
    help: "By cost per answer. Models that fail often come last.",
  },
  { value: "fastest", label: "Fastest", help: "By p50 time to first token." },
  {
    value: "best_judged",
    label: "Best judged",
    help: "By how often a judge model of your choice prefers the answer.",
  },
];

export function objectiveLabel(objective: OptimizeSearch["objective"]): string {
  return OBJECTIVES.find(({ value }) => value === objective)?.label ?? objective;
}

export const STATES: Readonly<Record<OptimizeSearch["state"], readonly [Tone, string]>> = {
  running: ["quiet", "Running"],
  finished: ["ok", "Finished"],
  stopped: ["quiet", "Stopped"],
  over_budget: ["warn", "Budget used up"],
  interrupted: ["warn", "Interrupted"],
  failed: ["bad", "Failed"],
};

/** The winner. Undefined without answers, or without verdicts that the objective needs. */
export function findWinner({ objective, results }: OptimizeSearch): OptimizeResult | undefined {
  const first = results.find(({ rank }) => rank === 1);
  return objective === "best_judged" && first?.win_rate === null ? undefined : first;
}

export function isUndecided(search: OptimizeSearch): boolean {
  const isAnswered = search.results.some(({ calls, failed }) => calls > failed);
  return isAnswered && search.state !== "running" && findWinner(search) === undefined;
}

const PROMPTS_MIN = 3;
const PROMPTS_MAX = 50;
const PROMPT_CHARS_MAX = 20_000;

/**
 * Splits pasted text into prompts. The separator is a line of three or more dashes; without such
 * lines, each line is a prompt.
 */
export function readPrompts(text: string): readonly string[] {
  const lines = text.replaceAll("\r\n", "\n").split("\n");
  const isBlocks = lines.some(isRule);
  if (!isBlocks) return lines.map((line) => line.trim()).filter((line) => line !== "");
  const blocks: string[][] = [[]];
  for (const line of lines) {
    if (isRule(line)) blocks.push([]);
    else blocks.at(-1)?.push(line);
  }
  return blocks.map((block) => block.join("\n").trim()).filter((block) => block !== "");
}

function isRule(line: string): boolean {
  return /^-{3,}\s*$/.test(line);
}

export function promptsProblem(prompts: readonly string[]): string | undefined {
  if (prompts.length < PROMPTS_MIN) {
    return `Enter at least ${PROMPTS_MIN} prompts. There are ${prompts.length}.`;
  }
  if (prompts.length > PROMPTS_MAX) {
    return `Enter at most ${PROMPTS_MAX} prompts. There are ${prompts.length}.`;
  }
  const long = prompts.findIndex((prompt) => prompt.length > PROMPT_CHARS_MAX);
  return long < 0
    ? undefined
    : `Prompt ${long + 1} is longer than ${PROMPT_CHARS_MAX} characters. Shorten it.`;
}

export function countCalls(prompts: number, models: number, hasJudge: boolean): number {
  return prompts * (models + (hasJudge ? 1 : 0));
}
