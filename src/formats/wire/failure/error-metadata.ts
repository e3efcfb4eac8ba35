import { type Refusal, refusalGround, refusalTimes } from "../../../kernel/index.ts";

/** The metadata of a refusal in the error body of every wire (specification, "Body shape"). */
export function errorMetadata(refusal: Refusal): Record<string, string | boolean> {
  return {
    ...refusalGround(refusal),
    retryable: refusal.retryable,
    ...refusalTimes(refusal),
  };
}

/** The wording by which clients of a wire recognize a request that is too long for its model. */
export interface OverflowWording {
  readonly sign: RegExp;
  readonly wording: string;
}

/**
 * The message of a refusal, in an error body and in a stream's last event. A context overflow
 * always contains the wording, because clients shorten their history when they find it.
 */
export function messageWith({ sign, wording }: OverflowWording, refusal: Refusal): string {
  const isMissing = refusal.class === "context_overflow" && !sign.test(refusal.message);
  return isMissing ? `${refusal.message} (${wording})` : refusal.message;
}
