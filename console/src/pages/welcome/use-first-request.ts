import { useState } from "react";

import type { FirstRequest } from "../../../../src/account/console-api/contract.ts";
import { useAnswer } from "../../api/use-answer.ts";

const LISTEN_MS = 2_000;

export interface First {
  /** ID of a request that succeeded; undefined until there is one. */
  readonly succeeded: string | undefined;
  /** The latest refused request; null if there is none. */
  readonly refused: FirstRequest["refused"];
}

export function useFirstRequest(): First {
  const [succeeded, setSucceeded] = useState<string>();
  const { data } = useAnswer("GET /api/console/first-request", undefined, {
    enabled: succeeded === undefined,
    refetchMs: LISTEN_MS,
  });
  const found = data?.request_id ?? undefined;
  if (found !== undefined && succeeded === undefined) setSucceeded(found);
  return { succeeded, refused: data?.refused ?? null };
}
