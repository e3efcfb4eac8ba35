import { useEffect, useRef, useState } from "react";

import type {
  OptimizeAnswer,
  OptimizeAnswers,
  OptimizeVerdict,
  OptimizeSearch,
} from "../../api/contract.ts";
import { BrowserShelf, type Kept } from "../playground/browser-store.ts";
import { call } from "../../api/client.ts";

export const SEARCHES_MAX = 10;

/** The prompts, answers and verdicts of an Optimize search. Only this browser stores them. */
export interface KeptSearch extends Kept {
  readonly prompts: readonly string[];
  readonly answers: readonly OptimizeAnswer[];
  readonly verdicts: readonly OptimizeVerdict[];
  /** Position in the server's answers after which this browser fetches the next ones. */
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
  const updatedAtMs = Date.now();
  return { id, orgId, updatedAtMs, prompts, answers: [], verdicts: [], next: 0, lost: 0 };
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
  /** Undefined if another browser started the search, because only that browser stores it. */
  readonly prompt: string | undefined;
  readonly answers: ReadonlyMap<string, OptimizeAnswer>;
  /** Undefined if the prompt was not judged; null if the judge chose no answer. */
  readonly winner: string | null | undefined;
}

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

const POLL_MS = 2_000;
/** Number of tries after the search has ended. Another server instance may hold missing answers. */
const TRIES_AFTER_END = 5;

/**
 * Reads the part of an Optimize search that this browser stores; undefined until it is read. While
 * the search runs, fetches more answers and stores them. `isSaved` is false if this browser stores
 * nothing: leaving the page then loses the answers.
 */
export function useKeptSearch(search: OptimizeSearch, orgId: string) {
  const [kept, setKept] = useState<KeptSearch>();
  const [isSaved, setSaved] = useState(true);
  const { search_id: id, state } = search;
  const isRunning = useRef(true);
  isRunning.current = state === "running";

  useEffect(() => {
    const abort = new AbortController();
    void (async () => {
      const all = await searchShelf.list(orgId);
      let now = all.find((each) => each.id === id) ?? createKeptSearch(id, orgId, []);
      if (abort.signal.aborted) return;
      setKept(now);
      for (let tries = 0; tries < TRIES_AFTER_END && !abort.signal.aborted;) {
        const wasRunning = isRunning.current;
        // After a failure, the loop tries again.
        const fetched = await call("GET /api/console/optimize/:search_id/answers", {
          params: { search_id: id },
          query: { after: now.next },
          signal: abort.signal,
        }).catch(() => undefined);
        if (abort.signal.aborted) return;
        const after = fetched === undefined ? now : withFetched(now, fetched);
        if (after !== now) {
          now = after;
          setKept(now);
          setSaved(await searchShelf.keep(now));
        }
        if (fetched?.has_more === true) continue;
        if (fetched?.held === true && !wasRunning) return;
        if (!wasRunning) tries += 1;
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      }
    })();
    return () => abort.abort();
  }, [id, orgId]);
  return { kept, isSaved };
}
