import { focusManager, MutationCache, QueryCache, QueryClient } from "@tanstack/react-query";

import { ApiFault } from "../api/client.ts";
import { isAnswerLost, rereadSession } from "../api/use-answer.ts";

/** Answers older than this are read again when a page uses them or the window gets the focus. */
const FRESH_MS = 5_000;
const RETRIES_MAX = 2;

/** Makes the cache of answers. */
export function makeQueryClient(): QueryClient {
  focusManager.setEventListener(listenForReturn);
  const onError = (error: unknown): void => rereadSession(client, error);
  const client = new QueryClient({
    queryCache: new QueryCache({ onError }),
    mutationCache: new MutationCache({ onError }),
    defaultOptions: {
      queries: {
        staleTime: FRESH_MS,
        refetchOnWindowFocus: true,
        // A retry can succeed after a failed connection or a server error, not after a refusal.
        retry: (failures, error) =>
          failures < RETRIES_MAX && error instanceof ApiFault && isAnswerLost(error),
      },
      mutations: { retry: false },
    },
  });
  return client;
}

function listenForReturn(onReturn: (isFocused?: boolean) => void): () => void {
  const listener = (): void => onReturn();
  globalThis.addEventListener("visibilitychange", listener);
  globalThis.addEventListener("focus", listener);
  return () => {
    globalThis.removeEventListener("visibilitychange", listener);
    globalThis.removeEventListener("focus", listener);
  };
}
