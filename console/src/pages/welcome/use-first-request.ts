import { useState } from "react";

import type { FirstRequest } from "../../../../src/account/console-api/contract.ts";
import { useAnswer } from "../../api/use-answer.ts";

/** The interval at which the page polls for the first request. */
const LISTEN_MS = 2_000;

export interface First {
  /** The id of a request that succeeded; undefined if none has yet. */
  readonly succeeded: string | undefined;
  /** The newest request that was refused. */
  readonly refused: FirstRequest["refused"];
}

/** Polls until a request succeeds. */
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
