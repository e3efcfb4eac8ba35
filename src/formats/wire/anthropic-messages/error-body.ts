import { type Refusal, wireBErrorType } from "../../../kernel/index.ts";
import { errorMetadata } from "../failure/error-metadata.ts";
import { messageWith, type OverflowWording } from "../failure/overflow-message.ts";

export function errorBody(refusal: Refusal, requestId: string): Buffer {
  const body = {
    type: "error",
    error: {
      type: wireBErrorType(refusal),
      message: errorMessage(refusal),
      error_type: refusal.class,
      ...(refusal.errorCode === undefined ? {} : { details: { error_code: refusal.errorCode } }),
      metadata: errorMetadata(refusal),
    },
    request_id: requestId,
  };
  return Buffer.from(JSON.stringify(body));
}

/** The message of a refusal, in an error body and in a stream's last event. */
export function errorMessage(refusal: Refusal): string {
  return messageWith(overflow, refusal);
}

const overflow: OverflowWording = { sign: /prompt is too long/, wording: "prompt is too long" };
