import { type Refusal, REFUSALS } from "../../../kernel/index.ts";
import { errorMetadata } from "../failure/error-metadata.ts";
import { messageWith, type OverflowWording } from "../failure/overflow-message.ts";

export function errorBody(refusal: Refusal, requestId: string): Buffer {
  const body = {
    error: {
      code: refusal.class,
      message: errorMessage(refusal),
      type: REFUSALS[refusal.class].wireAType,
      metadata: { error_type: refusal.class, ...errorMetadata(refusal) },
    },
    request_id: requestId,
  };
  return Buffer.from(JSON.stringify(body));
}

/** The message of a refusal, in an error body and in a stream's last chunk. */
export function errorMessage(refusal: Refusal): string {
  return messageWith(overflow, refusal);
}

const overflow: OverflowWording = {
  sign: /context_length_exceeded/,
  wording: "context_length_exceeded: the request is above the model's maximum context length",
};
