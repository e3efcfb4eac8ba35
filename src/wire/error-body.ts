import type { WireId } from "../catalog/catalog.ts";
import { REFUSALS, type Refusal, wireBErrorType } from "../core/refusals.ts";
import { messageFor } from "./failure/overflow-message.ts";

/** The error body of a refusal in the shape of `wire` (specification, "Body shape"). */
export function renderErrorBody(wire: WireId, refusal: Refusal, requestId: string): Buffer {
  return Buffer.from(JSON.stringify(SHAPES[wire](refusal, requestId)));
}

type Shape = (refusal: Refusal, requestId: string) => unknown;

const SHAPES: Readonly<Record<WireId, Shape>> = {
  wire_a: (refusal, requestId) => ({
    error: {
      code: refusal.class,
      message: messageFor("wire_a", refusal),
      type: REFUSALS[refusal.class].wireAType,
      metadata: { error_type: refusal.class, ...metadata(refusal) },
    },
    request_id: requestId,
  }),
  wire_b: (refusal, requestId) => ({
    type: "error",
    error: {
      type: wireBErrorType(refusal),
      message: messageFor("wire_b", refusal),
      error_type: refusal.class,
      ...(refusal.errorCode === undefined ? {} : { details: { error_code: refusal.errorCode } }),
      metadata: metadata(refusal),
    },
    request_id: requestId,
  }),
};

function metadata(refusal: Refusal): Record<string, string | boolean> {
  const { origin, limit, retryAtMs, capResetAtMs } = refusal;
  return {
    ...(origin === undefined ? {} : { origin }),
    ...(limit === undefined ? {} : { limit_scope: limit.scope, limit_kind: limit.kind }),
    ...(limit?.id === undefined ? {} : { limit_id: limit.id }),
    retryable: refusal.retryable,
    ...(retryAtMs === undefined ? {} : { retry_at: instant(retryAtMs) }),
    ...(capResetAtMs === undefined ? {} : { reset_at: instant(capResetAtMs) }),
  };
}

function instant(ms: number): string {
  return new Date(ms).toISOString();
}
