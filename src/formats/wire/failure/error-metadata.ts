import { type Refusal, refusalGround, refusalTimes } from "../../../kernel/index.ts";

/** What the error body of every wire says of a refusal (specification, "Body shape"). */
export function errorMetadata(refusal: Refusal): Record<string, string | boolean> {
  return {
    ...refusalGround(refusal),
    retryable: refusal.retryable,
    ...refusalTimes(refusal),
  };
}
