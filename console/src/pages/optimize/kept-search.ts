import type {
  OptimizeAnswer,
  OptimizeAnswers,
  OptimizeVerdict,
} from "../../../../src/account/console-api/contract.ts";
import { BrowserShelf } from "../playground/browser-store.ts";

export const SEARCHES_MAX = 10;

/** The prompts, answers and verdicts of an Optimize search. Only this browser stores them. */
export interface KeptSearch {
  readonly id: string;
  readonly orgId: string;
  readonly updatedAtMs: number;
  readonly prompts: readonly string[];
  readonly answers: readonly OptimizeAnswer[];
  readonly verdicts: readonly OptimizeVerdict[];
  /** Position after which this browser fetches the next answers. */
  readonly next: number;
  /** Number of answers that the server dropped before this browser fetched them. */
  readonly lost: number;
}

export const searchShelf = new BrowserShelf<KeptSearch>("searches", SEARCHES_MAX);

export function createKeptSearch(
  id: string,
  orgId: string,
  prompts: readonly string[],
): KeptSearch {
  const nothing = { answers: [], verdicts: [], next: 0, lost: 0 };
  return { id, orgId, updatedAtMs: Date.now(), prompts, ...nothing };
}

/** Adds answers that were fetched after `kept.next`. Returns `kept` itself if there are none. */
export function withFetched(kept: KeptSearch, fetched: OptimizeAnswers): KeptSearch {
  if (!fetched.held || fetched.next <= kept.next) return kept;
  return {
    ...kept,
    answers: [...kept.answers, ...fetched.answers],
    verdicts: [...kept.verdicts, ...fetched.verdicts],
    next: fetched.next,
    lost: kept.lost + fetched.lost,
  };
}

export interface PromptRow {
  readonly at: number;
  /**
   * Text of the prompt. Undefined if another browser started the Optimize search, because only that
   * browser stores it.
   */
  readonly prompt: string | undefined;
  readonly answers: ReadonlyMap<string, OptimizeAnswer>;
  /**
   * Model of the answer that the judge chose. Undefined if the prompt was not judged; null if the
   * judge chose no answer.
   */
  readonly winner: string | null | undefined;
}

/** Returns a row for each of the first `prompts` prompts that has an answer. */
export function promptRows(kept: KeptSearch, prompts: number): readonly PromptRow[] {
  const rows = Array.from({ length: prompts }, (_none, at) => ({
    at,
    prompt: kept.prompts[at],
    answers: new Map(
      kept.answers.filter(({ prompt }) => prompt === at).map((each) => [each.model, each]),
    ),
    winner: kept.verdicts.find(({ prompt }) => prompt === at)?.winner,
  }));
  return rows.filter(({ answers }) => answers.size > 0);
}
