import type { Refusal } from "../../core/index.ts";

/** What the error body of every wire says of a refusal (specification, "Body shape"). */
export function errorMetadata(refusal: Refusal): Record<string, string | boolean> {
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
