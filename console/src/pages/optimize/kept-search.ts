import type {
  OptimizeAnswer,
  OptimizeAnswers,
  OptimizeVerdict,
} from "../../../../src/account/console-api/contract.ts";
import { BrowserShelf } from "../playground/browser-store.ts";

/** So many searches are kept, newest first. */
export const SEARCHES_MAX = 10;

/** A search as this browser keeps it: what the server never stores. */
export interface KeptSearch {
  readonly id: string;
  readonly orgId: string;
  readonly updatedAtMs: number;
  readonly prompts: readonly string[];
  readonly answers: readonly OptimizeAnswer[];
  readonly verdicts: readonly OptimizeVerdict[];
  /** The position after which the next request for answers begins. */
  readonly next: number;
  /** Answers that the server forgot before this browser came for them. */
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

/** With what was fetched after its `next`; the same object when that was nothing. */
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

/** One prompt and what became of it. */
export interface PromptRow {
  readonly at: number;
  /** Undefined if this browser did not start the search, and does not know it. */
  readonly prompt: string | undefined;
  readonly answers: ReadonlyMap<string, OptimizeAnswer>;
  /** Undefined: not judged; null: the judge named none. */
  readonly winner: string | null | undefined;
}

/** A row for each prompt that something is known of. */
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
