import type { FirstRequest } from "../../../../src/account/console-api/contract.ts";

export interface RefusalText {
  readonly words: string;
  /** The one thing to do: add credit on this page, or read more about the request. */
  readonly repair: "credit" | "view";
}

/** Why a first request has no answer, and what helps. */
export function refusalText(
  { status, error_class: reason }: NonNullable<FirstRequest["refused"]>,
  hasCredit: boolean,
): RefusalText {
  if (status === "cancelled") {
    return say(
      "It arrived, but your program closed the connection before the answer. Send it again.",
    );
  }
  if (reason === "insufficient_quota" && !hasCredit) {
    return { words: "It arrived and was rejected: there is no credit yet.", repair: "credit" };
  }
  const known = reason === null ? undefined : REASONS.get(reason);
  if (known !== undefined) return say(`It arrived and was rejected: ${known}`);
  const ended = status === "failed" ? "but the provider did not answer" : "and was rejected";
  return say(`It arrived ${ended}${reason === null ? "" : ` (${reason})`}. Send it again.`);
}

function say(words: string): RefusalText {
  return { words, repair: "view" };
}

const REASONS: ReadonlyMap<string, string> = new Map([
  [
    "insufficient_quota",
    "your credit or a cap did not cover its maximum cost. Send it again, or set a lower output limit.",
  ],
  ["rate_limit", "too many requests in a minute. Wait a minute, then send it again."],
  ["model_not_found", "no model has this name. Copy the example again."],
  ["invalid_request", "something in the request is not valid. Copy the example again."],
]);
