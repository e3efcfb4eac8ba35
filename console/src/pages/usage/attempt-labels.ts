import { explainRefusal } from "../../../../src/kernel/core/explain-refusal.ts";
import type { Attempt, RequestRow } from "../../api/contract.ts";
import { formatMs } from "../../ui/format.ts";

/** Says in a sentence why another attempt followed this one; undefined if none followed. */
export function failoverReason(attempt: Attempt, next: Attempt | undefined): string | undefined {
  if (next === undefined) return undefined;
  const reason = `${attempt.provider} ${whatHappened(attempt)}`;
  return next.provider === attempt.provider
    ? `${reason}, so the gateway tried again.`
    : `${reason}, so the gateway continued with ${next.provider}.`;
}

function whatHappened(attempt: Attempt): string {
  const { outcome, error_class, upstream_status, duration_ms } = attempt;
  if (outcome === "lost_in_restore") return "was lost in a database restore and cost nothing";
  if (outcome === "timeout") return "did not answer in time";
  if (outcome === "reset") return "lost the connection";
  if (outcome === "stream_died") {
    const after = duration_ms === null ? "" : ` after ${formatMs(duration_ms)},`;
    return `stopped${after} before the answer was complete`;
  }
  const words = error_class === null ? undefined : CLASSES[error_class];
  const status = upstream_status === null ? "" : ` (status ${upstream_status})`;
  return `${words ?? "could not serve the request"}${status}`;
}
const CLASSES: Readonly<Record<string, string>> = {
  rate_limit: "was at its rate limit",
  auth: "rejected Token Market's account",
  model_unavailable: "could not be reached or did not serve the model",
  upstream_error: "failed",
  gateway_error: "sent an answer that cannot be translated",
};

/** Explains why a request did not succeed; undefined if it succeeded or is still running. */
export function errorAdvice(row: RequestRow): string | undefined {
  switch (row.status) {
    case "succeeded":
    case "in_flight":
      return undefined;
    case "cancelled":
      return clientClosed(row);
    case "rejected_by_provider":
      return PROVIDER_ADVICE[row.error_class ?? ""] ?? "The provider rejected this request.";
    case "rejected_by_gateway":
    case "failed":
      return ENDINGS[row.outcome] ?? explainRefusal(row.error_class ?? "");
    default:
      return row.status satisfies never;
  }
}

function clientClosed({ attempts, first_byte_ms, duration_ms }: RequestRow): string {
  if (attempts === 0) return "Your client closed the connection before any provider was asked.";
  const after = duration_ms === null ? "" : ` after ${formatMs(duration_ms)}`;
  const when = first_byte_ms === null ? "before the first token" : "while the answer was arriving";
  return `Your client closed the connection${after}, ${when}.`;
}

const ENDINGS: Readonly<Partial<Record<RequestRow["outcome"], string>>> = {
  timeout: "The provider did not answer in time. Try again, or choose another provider.",
  reset: "The connection to the provider was lost before it answered. Try again.",
  stream_died: "The provider stopped before the answer was complete. Try again.",
  unknown_after_crash:
    "The gateway stopped while this request was running, so its outcome is unknown. The reserved amount was charged.",
  lost_in_restore:
    "The database was restored to a point before this request ended. Nothing was charged.",
};

/** Advice by error class. For refusals by the gateway, `explainRefusal` has the advice. */
const PROVIDER_ADVICE: Readonly<Record<string, string>> = {
  content_policy:
    "The provider rejected the content under its policy. No other provider was tried and nothing was charged. Change the content.",
  context_overflow:
    "The prompt is longer than the model's context window. Shorten it, or choose a model with a larger context.",
  invalid_request:
    "The provider did not accept the request. Change the field named in the error message.",
  request_too_large: "The request was too large for the provider. Send less in one request.",
  rate_limit:
    "The provider was at its own rate limit. Wait for the time in retry-after, then try again.",
  auth: "The provider rejected Token Market's account. Your key is fine. Try again later, or choose another model.",
  model_unavailable:
    "The provider does not serve this model right now. Try again later, or choose another model.",
};
