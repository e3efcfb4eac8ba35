import type { RefusalClass } from "./refusals.ts";

/** Every request has exactly one status; a rejected request never counts as failed. */
export const REQUEST_STATUSES = {
  succeeded: { label: "Succeeded", meaning: "The answer arrived in full." },
  rejected_by_gateway: {
    label: "Rejected by gateway",
    meaning: "Token Market turned it away before any provider was asked. Nothing was charged.",
  },
  rejected_by_provider: {
    label: "Rejected by provider",
    meaning: "The provider refused the request or its content.",
  },
  failed: {
    label: "Failed",
    meaning: "No provider answered, the answer broke off, or its outcome is unknown.",
  },
  cancelled: { label: "Cancelled", meaning: "Your client closed the connection." },
  in_flight: { label: "In progress", meaning: "It has not ended yet." },
} as const satisfies Readonly<Record<string, { readonly label: string; readonly meaning: string }>>;

export type RequestStatus = keyof typeof REQUEST_STATUSES;

/** How an attempt ended, or `in_flight` if it has not. The generation record shows these names. */
export const ATTEMPT_OUTCOMES = [
  "completed",
  "refused",
  "failed",
  "timeout",
  "reset",
  "stream_died",
  "client_disconnected",
  "in_flight",
  "unknown_after_crash",
  "lost_in_restore",
] as const;

export type AttemptEnd = (typeof ATTEMPT_OUTCOMES)[number];

/** The error class if the client disconnected before anything was sent to a provider. */
export const CLIENT_LEFT = "client_left";

const STATUS_OF_OUTCOME: Readonly<Record<AttemptEnd, RequestStatus>> = {
  completed: "succeeded",
  refused: "rejected_by_provider",
  failed: "failed",
  timeout: "failed",
  reset: "failed",
  stream_died: "failed",
  client_disconnected: "cancelled",
  in_flight: "in_flight",
  unknown_after_crash: "failed",
  lost_in_restore: "failed",
};

/** Error classes that blame the request itself, whatever the provider's HTTP status. */
const BLAMES_REQUEST: ReadonlySet<string> = new Set<RefusalClass>([
  "content_policy",
  "context_overflow",
  "invalid_request",
  "request_too_large",
]);

/** A request without attempts was rejected by the gateway, unless its client disconnected first. */
export function toRequestStatus(ended: {
  readonly attempts: number;
  readonly outcome: AttemptEnd;
  readonly errorClass: string | null;
}): RequestStatus {
  const { attempts, outcome, errorClass } = ended;
  if (attempts === 0) return errorClass === CLIENT_LEFT ? "cancelled" : "rejected_by_gateway";
  const status = STATUS_OF_OUTCOME[outcome];
  const isBlamed = status === "failed" && BLAMES_REQUEST.has(errorClass ?? "");
  return isBlamed ? "rejected_by_provider" : status;
}
