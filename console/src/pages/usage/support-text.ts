import type { Attempt, RequestDetail } from "../../../../src/account/console-api/contract.ts";
import { endingOfAttempt, endingOfRequest, type Ending } from "./outcome-labels.ts";

/** All that support needs to explain a request, but neither its prompt nor its answer. */
export function supportText(detail: RequestDetail): string {
  const { request, attempts } = detail;
  return [
    `Request ${request.request_id}`,
    `Created ${request.created_at}`,
    `Route ${request.route}, ${request.stream ? "streamed" : "whole"}`,
    `Model ${request.model ?? "none"}`,
    `Source ${request.source}${request.key_id === null ? "" : ` (key ${request.key_id})`}`,
    `Status ${describeEnd(endingOfRequest(request))}`,
    `First token ${ms(request.first_byte_ms)}, duration ${ms(request.duration_ms)}`,
    `Cost $${request.cost_usd}`,
    ...attempts.map(attemptText),
    ...detail.response_headers.map(({ name, value }) => `Header ${name}: ${value}`),
  ].join("\n");
}

function attemptText(attempt: Attempt): string {
  const parts = [
    `Attempt ${attempt.n}: ${attempt.provider} (${attempt.upstream_id})`,
    `started ${attempt.started_at}`,
    describeEnd(endingOfAttempt(attempt)),
    `HTTP status ${attempt.upstream_status ?? "none"}`,
    `first token ${ms(attempt.first_byte_ms)}`,
    `duration ${ms(attempt.duration_ms)}`,
    `reserved $${attempt.reserved_usd}`,
    `settled $${attempt.settled_usd} (${attempt.settlement ?? "not settled"})`,
  ];
  return parts.join(", ");
}

function describeEnd({ word, detail }: Ending): string {
  return detail === undefined ? word.toLowerCase() : `${word.toLowerCase()} (${detail})`;
}

function ms(value: number | null): string {
  return value === null ? "unknown" : `${value} ms`;
}
