import { deploymentAt } from "../../catalog/index.ts";
import type { CallRequest } from "../../formats/index.ts";
import {
  type AttemptId,
  attemptInstantMs,
  type MicroUsd,
  type OrgId,
  ZERO_PICO_USD,
} from "../../kernel/index.ts";
import {
  type AnsweredHeaders,
  type CloseOutcome,
  type CloseRow,
  droppedText,
  type ReserveOutcome,
  type ReserveRow,
} from "../../ledger/index.ts";
import type { AttemptResult } from "../../upstream/index.ts";
import { type TokenCount, NO_TOKENS } from "../limits/limit-store.ts";
import type { CallKind } from "./call-kind.ts";
import type { Candidate, WantedCandidate } from "./candidates.ts";
import type { ClaimedScopes, LimitedCall } from "./claim.ts";
import type { ClientExchange, ServedHeaders } from "./client-exchange.ts";
import type { CallPorts } from "./ports.ts";
import { toAttemptOutcome, type Settlement } from "./settle.ts";
import type { AttemptTrace, RequestTrace } from "./trace.ts";

export interface AcceptedCall<R extends CallRequest> extends WantedCandidate {
  readonly kind: CallKind<R>;
  readonly request: R;
  /** Identifies the conversation for `Affinity`; undefined if that cannot change the route. */
  readonly conversation: string | undefined;
  readonly limited: LimitedCall;
  /** The longest time in milliseconds from the claim until the last provider is tried. */
  readonly timeoutMs: number;
  /** Undefined in a dry run, or if no traces are exported. */
  readonly trace: RequestTrace | undefined;
}

export interface HeldAttempt {
  readonly candidate: Candidate;
  readonly reserve: ReserveRow;
  readonly headers: ServedHeaders;
  readonly trace: AttemptTrace | undefined;
}

export interface EndedAttempt {
  readonly kind: "ended";
  readonly attemptId: ReserveRow["attemptId"];
  readonly startedAtMs: number;
  readonly result: AttemptResult;
  readonly settlement: Settlement;
  /** The gateway's result; of the final attempt, the ledger's debit unless its close is pending. */
  readonly debitMicroUsd: MicroUsd;
  readonly tokens: TokenCount;
}

type HoldPorts = Pick<CallPorts, "ledger" | "shortfalls" | "clock">;

/**
 * Holds a call's claims in limits and in a provider's pool, and its open attempt in the journal,
 * until the call ends. Each is released exactly once, except the attempt of a job, which stays
 * open.
 */
export class CallHold {
  /** The claims in the limits of the caller and the platform. */
  readonly limits: ClaimedScopes;
  readonly #ports: HoldPorts;
  #pool: ClaimedScopes | undefined;
  /** The claim in the pool of a candidate whose attempt is not open yet. */
  #next: ClaimedScopes | undefined;
  #open: ReserveRow | undefined;
  #heldOf: OrgId | undefined;

  constructor(ports: HoldPorts, limits: ClaimedScopes) {
    this.#ports = ports;
    this.limits = limits;
  }

  /** Takes over the claim in a candidate's pool, as soon as it is made. */
  takePool(pool: ClaimedScopes | undefined): void {
    this.#next = pool;
  }

  /** If the reserve is refused, undoes the claim in the pool. */
  reserve(row: ReserveRow): Promise<ReserveOutcome> {
    const { ledger, shortfalls } = this.#ports;
    const known = shortfalls.find(row);
    if (known !== undefined) return Promise.resolve(this.#opened(row, known));
    const asked = shortfalls.asking(row.orgId);
    return ledger.reserve(row).then((outcome) => {
      shortfalls.note(row, outcome, asked);
      return this.#opened(row, outcome);
    });
  }

  close(row: CloseRow): Promise<CloseOutcome> {
    this.#open = undefined;
    return this.#ports.ledger.close(row);
  }

  /** Closes an attempt and holds the worst-case cost of the next one in one ledger operation. */
  async roll(row: CloseRow, next: ReserveRow): Promise<ReserveOutcome> {
    this.#open = undefined;
    const outcome = await this.#ports.ledger.roll(row, next);
    this.#ports.shortfalls.forget(next.orgId);
    return this.#opened(next, outcome);
  }

  /** Leaves the attempt open when the request ends, because the provider's job continues. */
  keepOpen(): void {
    this.#open = undefined;
  }

  leavePool(tokens: TokenCount): void {
    this.#pool?.release(tokens);
    this.#pool = undefined;
  }

  release(tokens: TokenCount): void {
    this.leavePool(tokens);
    // The unused reserve is free again, so the ledger may accept what it refused before.
    if (this.#heldOf !== undefined) this.#ports.shortfalls.forget(this.#heldOf);
    this.limits.release(tokens);
  }

  /** Undoes all claims of a request that was never dispatched. */
  undo(): void {
    this.#undoNext();
    this.limits.undo();
  }

  /** Ends the hold after an internal fault: closes the open attempt, if any, without a charge. */
  giveUp(): void {
    if (this.#heldOf === undefined) return this.undo();
    const open = this.#open;
    if (open !== undefined) void this.close(faultRow(open, this.#ports.clock.nowMs()));
    this.#undoNext();
    this.release(NO_TOKENS);
  }

  #opened(row: ReserveRow, outcome: ReserveOutcome): ReserveOutcome {
    if (outcome.kind === "reserved") {
      this.#open = row;
      this.#heldOf = row.orgId;
      this.#pool = this.#next;
      this.#next = undefined;
    } else this.#undoNext();
    return outcome;
  }

  #undoNext(): void {
    this.#next?.undo();
    this.#next = undefined;
  }
}

/**
 * Builds the hold of the next attempt, for its highest possible cost. The attempt is charged at the
 * prices in force when the ledger made its id, however long it runs.
 */
export function attemptToHold<R extends CallRequest>(
  ports: Pick<CallPorts, "ledger" | "clock">,
  client: ClientExchange,
  input: {
    readonly call: Pick<AcceptedCall<R>, "kind" | "request" | "tokens" | "trace">;
    readonly limits: ClaimedScopes;
    readonly candidate: Candidate;
    readonly ordinal: number;
  },
): HeldAttempt & { readonly ok: true } {
  const startedMs = ports.clock.monotonicMs();
  const { call, ordinal } = input;
  const { request, kind, tokens } = call;
  const attemptId = ports.ledger.newAttemptId();
  const candidate =
    input.candidate.step.deployment.datedPrices === undefined
      ? input.candidate
      : pricedCandidate(input.candidate, attemptId);
  const { deployment } = candidate.step;
  if (deployment.prices === null) throw new Error("the plan let an unpriced deployment through");
  const reserveMicroUsd = kind.quote(request, deployment);
  const trace = call.trace?.attempt({
    attemptId,
    deployment,
    reserveMicroUsd,
    isTranslated: kind.wire !== undefined && kind.wire !== deployment.wire,
    startedMs,
  });
  const reserve: ReserveRow = {
    attemptId,
    requestId: client.requestId,
    ordinal,
    orgId: client.principal.orgId,
    keyId: client.principal.keyId,
    modelId: deployment.modelId,
    providerId: deployment.providerId,
    upstreamModelId: deployment.upstreamModelId,
    pricePinId: deployment.prices.pinId,
    route: client.route,
    stream: request.stream,
    estimatedTokens: tokens.tokens,
    reserveMicroUsd,
    lane: trace?.reserveLane,
  };
  const headers = buildServedHeaders(request, input.limits, { candidate, reserve });
  return { ok: true, candidate, reserve, headers, trace };
}

function pricedCandidate(candidate: Candidate, attemptId: AttemptId): Candidate {
  const { step } = candidate;
  const deployment = deploymentAt(step.deployment, attemptInstantMs(attemptId));
  return { ...candidate, step: { ...step, deployment } };
}

function buildServedHeaders(
  request: CallRequest,
  limits: ClaimedScopes,
  { candidate, reserve }: Pick<HeldAttempt, "candidate" | "reserve">,
): ServedHeaders {
  const { step, pool = limits } = candidate;
  const { queueMs } = limits;
  const remainingRequests = Math.min(limits.remainingRequests, pool.remainingRequests);
  const remainingTokens = Math.min(limits.remainingTokens, pool.remainingTokens);
  return {
    provider: step.deployment.providerId,
    attempts: reserve.ordinal,
    ...(remainingRequests !== Number.MAX_SAFE_INTEGER && { remainingRequests }),
    ...(remainingTokens !== Number.MAX_SAFE_INTEGER && { remainingTokens }),
    ...(queueMs > 0 && { queueMs }),
    droppedParams: [...request.droppedParams, ...step.upstream.droppedParams],
  };
}

interface ClosedFrom {
  readonly client: Pick<ClientExchange, "gone" | "committed">;
  readonly final: boolean;
  readonly held: Pick<HeldAttempt, "headers" | "trace">;
}

export function closeRow(
  { attemptId, startedAtMs, result, settlement }: EndedAttempt,
  end: ClosedFrom,
): CloseRow {
  const { usage, basis, costPicoUsd, owedPicoUsd, flag } = settlement;
  const { bridge, failure, upstreamStatus, firstByteMs, durationMs } = result;
  const served = bridge?.servedModel;
  return {
    attemptId,
    outcome: toAttemptOutcome(result, end.client.gone),
    usage,
    basis,
    costPicoUsd,
    ...(owedPicoUsd !== undefined && { owedPicoUsd }),
    upstreamStatus,
    errorClass: flag ?? failure?.refusal.class ?? null,
    startedAtMs,
    firstByteMs,
    durationMs,
    ...(served === undefined ? {} : { served }),
    ...answeredHeaders(result, end),
    final: end.final,
    lane: end.held.trace?.settleLane,
  };
}

/** Returns the answer headers to store: those that were sent and that no other column contains. */
function answeredHeaders(
  { failure }: EndedAttempt["result"],
  { held, client }: ClosedFrom,
): AnsweredHeaders | undefined {
  const { headers } = held;
  const { droppedParams = [] } = headers;
  const dropped =
    droppedParams.length === 0 ? undefined : { droppedParams: droppedText(droppedParams) };
  if (client.committed || (failure === undefined && !client.gone)) {
    const { remainingRequests, remainingTokens, queueMs } = headers;
    return {
      ...(remainingRequests !== undefined && { remainingRequests }),
      ...(remainingTokens !== undefined && { remainingTokens }),
      ...(queueMs !== undefined && { queueMs }),
      ...dropped,
    };
  }
  const retryAfterSeconds = failure?.refusal.retryAfterSeconds;
  return client.gone || retryAfterSeconds === undefined
    ? dropped
    : { retryAfterSeconds, ...dropped };
}

function faultRow(open: ReserveRow, nowMs: number): CloseRow {
  return {
    attemptId: open.attemptId,
    outcome: "failed",
    usage: null,
    basis: "none",
    costPicoUsd: ZERO_PICO_USD,
    upstreamStatus: null,
    errorClass: "gateway_error",
    startedAtMs: nowMs,
    firstByteMs: null,
    durationMs: 0,
    final: true,
  };
}
