import { ANSWER_HEADERS, CLIENT_LEFT } from "../../kernel/index.ts";
import { droppedNames, type RefusalReason } from "../../ledger/index.ts";
import type { AttemptRecord, Refused } from "./record-rows.ts";

export interface AnsweredRequest {
  readonly attempts: readonly AttemptRecord[];
  readonly refused?: Refused;
}

/** Lists the request fields that were dropped in the last attempt, or before a refusal. */
export function listDroppedParams({ attempts, refused }: AnsweredRequest): readonly string[] {
  const last = attempts.at(-1);
  if (last === undefined) return refused?.reason?.dropped_params ?? [];
  return droppedNames(last.answered.droppedParams);
}

/** Omits the error headers if a provider failed: its attempt's record has the class and status. */
export function buildAnswerHeaders(request: AnsweredRequest): Readonly<Record<string, string>> {
  const last = request.attempts.at(-1);
  if (last?.outcome === "in_flight") return {};
  const dropped = listDroppedParams(request);
  const said: readonly Said[] = [
    ...(last === undefined ? refusalHeaders(request.refused) : listServedHeaders(request, last)),
    [ANSWER_HEADERS.droppedParams, dropped.length === 0 ? undefined : dropped.join(",")],
  ];
  return Object.fromEntries(
    said.flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  );
}

type Said = readonly [name: string, value: string | number | undefined];

function listServedHeaders({ attempts }: AnsweredRequest, last: AttemptRecord): readonly Said[] {
  const { remainingRequests, remainingTokens, queueMs } = last.answered;
  const isServed = last.outcome === "completed" || remainingRequests !== undefined;
  return [
    [ANSWER_HEADERS.provider, isServed ? last.providerId : undefined],
    [ANSWER_HEADERS.attempts, last.ordinal],
    [ANSWER_HEADERS.remainingRequests, remainingRequests],
    [ANSWER_HEADERS.remainingTokens, remainingTokens],
    [ANSWER_HEADERS.queueMs, queueMs],
    [ANSWER_HEADERS.retryAfter, isServed ? undefined : findRetryAfter(attempts)],
  ];
}

/** Finds the `retry-after` of the last attempt that was not throttled, or else of the last. */
function findRetryAfter(attempts: readonly AttemptRecord[]): number | undefined {
  const told =
    attempts.findLast(({ errorClass }) => errorClass !== "rate_limit") ?? attempts.at(-1);
  return told?.answered.retryAfterSeconds;
}

function refusalHeaders(refused: Refused | undefined): readonly Said[] {
  // A client that had left got no answer.
  if (refused === undefined || refused.errorClass === CLIENT_LEFT) return [];
  const reason: Partial<RefusalReason> = refused.reason ?? {};
  return [
    [ANSWER_HEADERS.errorCode, refused.errorClass],
    [ANSWER_HEADERS.errorOrigin, reason.origin],
    [ANSWER_HEADERS.limitScope, reason.limit_scope],
    [ANSWER_HEADERS.limitKind, reason.limit_kind],
    [ANSWER_HEADERS.limitId, reason.limit_id],
    [ANSWER_HEADERS.retryAfter, reason.retry_after],
    [ANSWER_HEADERS.capReset, reason.reset_at],
  ];
}
