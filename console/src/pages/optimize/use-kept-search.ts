import { useEffect, useRef, useState } from "react";

import type { OptimizeSearch } from "../../../../src/account/console-api/contract.ts";
import { call } from "../../api/client.ts";
import { createKeptSearch, searchShelf, withFetched, type KeptSearch } from "./kept-search.ts";

const POLL_MS = 2_000;
/**
 * Maximum number of attempts to fetch answers after the Optimize search has ended. One may not do,
 * because another instance of the server may hold the missing answers.
 */
const TRIES_AFTER_END = 5;

export interface KeptState {
  /** What this browser stores of the search. Undefined while it is being read. */
  readonly kept: KeptSearch | undefined;
  /** False if this browser stores nothing. Leaving the page then loses the answers. */
  readonly isSaved: boolean;
}

/**
 * Reads the part of an Optimize search that this browser stores. While the search runs, fetches
 * more answers and stores them.
 */
export function useKeptSearch(search: OptimizeSearch, orgId: string): KeptState {
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
        const fetched = await fetchAfter(id, now.next, abort.signal);
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

async function fetchAfter(id: string, after: number, signal: AbortSignal) {
  try {
    return await call("GET /api/console/optimize/:search_id/answers", {
      params: { search_id: id },
      query: { after },
      signal,
    });
  } catch {
    // The caller tries again later.
    return undefined;
  }
}
