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
import { type ScopeClaim, type TokenCount, NO_TOKENS } from "../limits/limit-store.ts";
import type { CallKind, CallTokens } from "./call-kind.ts";
import type { Candidate, CandidateList } from "./candidates.ts";
import type { ClaimedScopes, LimitedCall, MarketplaceClaim } from "./claim.ts";
import type { ClientExchange, ServedHeaders } from "./client-exchange.ts";
import type { CallPorts } from "./ports.ts";
import { toAttemptOutcome, type Settlement } from "./settle.ts";
import type { AttemptTrace, RequestTrace } from "./trace.ts";

/** A request that was read and planned. Its fields never change. */
export interface AcceptedCall<R extends CallRequest> {
  readonly kind: CallKind<R>;
  readonly request: R;
  /** The candidates that may serve it, in order. */
  readonly candidates: CandidateList;
  /** Its conversation, which stays at the deployment that served it last; undefined if none. */
  readonly conversation: string | undefined;
  /** The estimate that the token windows are claimed by. */
  readonly tokens: CallTokens;
  /** The facts that decide which limits apply. */
  readonly limited: LimitedCall;
  /** The claim to make when one of the marketplace's keys is to serve it. */
  readonly marketplace: MarketplaceClaim | undefined;
  /** Longest time until a provider is tried. */
  readonly timeoutMs: number;
  /** Undefined in a dry run, or if no traces are exported. */
  readonly trace: RequestTrace | undefined;
}

/** An attempt whose worst case is held in the journal, and the candidate that it goes to. */
export interface HeldAttempt {
  readonly candidate: Candidate;
  readonly reserve: ReserveRow;
  /** The headers of the answer, if this attempt serves. */
  readonly headers: ServedHeaders;
  readonly trace: AttemptTrace | undefined;
}

/** One physical dispatch that has ended. */
export interface EndedAttempt {
  readonly kind: "ended";
  readonly attemptId: ReserveRow["attemptId"];
  readonly startedAtMs: number;
  readonly result: AttemptResult;
  readonly settlement: Settlement;
  /** The debit of the settlement; the ledger's figure counts when it differs. */
  readonly debitMicroUsd: MicroUsd;
  /** The tokens that it counts for in the token windows. */
  readonly tokens: TokenCount;
}

type HoldPorts = Pick<CallPorts, "ledger" | "shortfalls" | "clock">;

/**
 * The resources that a call holds until it ends: its own limits, the place in a provider's pool,
 * and one open attempt in the journal. Whatever happens to the call, each is released exactly once.
 */
export class CallHold {
  readonly #ports: HoldPorts;
  readonly #own: ClaimedScopes;
  #pool: ClaimedScopes | undefined;
  #open: ReserveRow | undefined;
  /** The organization whose money is held; undefined before the first hold. */
  #heldOf: OrgId | undefined;

  constructor(ports: HoldPorts, own: ClaimedScopes) {
    this.#ports = ports;
    this.#own = own;
  }

  /** The scopes that it claimed before a candidate was chosen. */
  get limits(): ClaimedScopes {
    return this.#own;
  }

  /** Moves the claims of a client that left; see `ClaimedScopes.depart`. */
  depart(): readonly ScopeClaim[] {
    return this.#own.depart(this.#ports.clock.monotonicMs());
  }

  /**
   * Holds the worst case of the first attempt. If that is refused, undoes the claim in the pool.
   */
  reserve(row: ReserveRow, pool: ClaimedScopes | undefined): Promise<ReserveOutcome> {
    this.#pool = pool;
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

  /** Closes an attempt and holds the next one's worst case, in one step. */
  async roll(
    row: CloseRow,
    next: ReserveRow,
    pool: ClaimedScopes | undefined,
  ): Promise<ReserveOutcome> {
    this.#open = undefined;
    this.#pool = pool;
    const outcome = await this.#ports.ledger.roll(row, next);
    this.#ports.shortfalls.forget(next.orgId);
    return this.#opened(next, outcome);
  }

  /** Leaves the attempt open after the request, because the provider's job continues. */
  keepOpen(): void {
    this.#open = undefined;
  }

  /** Releases the place in the pool after an attempt has ended. */
  leavePool(tokens: TokenCount): void {
    this.#pool?.release(tokens, this.#ports.clock.monotonicMs());
    this.#pool = undefined;
  }

  release(tokens: TokenCount): void {
    this.leavePool(tokens);
    // The unused part of the reserve is available again: the ledger may now accept a reserve that
    // it refused before.
    if (this.#heldOf !== undefined) this.#ports.shortfalls.forget(this.#heldOf);
    this.#own.release(tokens, this.#ports.clock.monotonicMs());
  }

  /** Undoes all claims of a request that was never dispatched. */
  undo(): void {
    const nowMs = this.#ports.clock.monotonicMs();
    this.#pool?.undo(nowMs);
    this.#pool = undefined;
    this.#own.undo(nowMs);
  }

  /**
   * Ends the hold after an internal fault: charges nothing, and releases the money at once instead
   * of at the next restart.
   */
  giveUp(): void {
    if (this.#heldOf === undefined) return this.undo();
    const open = this.#open;
    if (open !== undefined) void this.close(faultRow(open, this.#ports.clock.nowMs()));
    this.release(NO_TOKENS);
  }

  #opened(row: ReserveRow, outcome: ReserveOutcome): ReserveOutcome {
    if (outcome.kind === "reserved") {
      this.#open = row;
      this.#heldOf = row.orgId;
    } else {
      this.#pool?.undo(this.#ports.clock.monotonicMs());
      this.#pool = undefined;
    }
    return outcome;
  }
}

/**
 * Builds the hold of the next attempt: its highest cost. Whenever the attempt ends, its prices are
 * those at the instant in its id, which comes from the ledger's clock.
 */
export function attemptToHold<R extends CallRequest>(
  ports: Pick<CallPorts, "ledger">,
  client: ClientExchange,
  input: {
    readonly call: Pick<AcceptedCall<R>, "kind" | "request" | "tokens" | "trace">;
    readonly limits: ClaimedScopes;
    readonly candidate: Candidate;
    /** 1 for the first attempt of a request. */
    readonly ordinal: number;
    /** Monotonic. */
    readonly nowMs: number;
  },
): HeldAttempt & { readonly ok: true } {
  const { call, ordinal } = input;
  const { request, kind, tokens } = call;
  const attemptId = ports.ledger.newAttemptId();
  const candidate = pricedCandidate(input.candidate, attemptId);
  const { deployment } = candidate.step;
  if (deployment.prices === null) throw new Error("the plan let an unpriced deployment through");
  const reserveMicroUsd = kind.quote(request, deployment);
  const trace = call.trace?.attempt({
    attemptId,
    deployment,
    reserveMicroUsd,
    isTranslated: kind.wire !== undefined && kind.wire !== deployment.wire,
    startedMs: input.nowMs,
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

/** Returns the candidate with its prices at the attempt's instant. */
function pricedCandidate(candidate: Candidate, attemptId: AttemptId): Candidate {
  const { step } = candidate;
  if (step.deployment.datedPrices === undefined) return candidate;
  const deployment = deploymentAt(step.deployment, attemptInstantMs(attemptId));
  return { ...candidate, step: { ...step, deployment } };
}

/** Headers that describe how this attempt serves the request, for the 200 or for a refusal. */
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
    // Left out if nothing limits them.
    ...(remainingRequests !== Number.MAX_SAFE_INTEGER && { remainingRequests }),
    ...(remainingTokens !== Number.MAX_SAFE_INTEGER && { remainingTokens }),
    ...(queueMs > 0 && { queueMs }),
    droppedParams: [...request.droppedParams, ...step.upstream.droppedParams],
  };
}

/** The inputs of a closing row besides the ended attempt. */
interface ClosedFrom {
  /** `committed` is true once the headers of a 200 have left. */
  readonly client: Pick<ClientExchange, "gone" | "committed">;
  readonly final: boolean;
  readonly held: Pick<HeldAttempt, "headers" | "trace">;
}

/** The closing row of an ended attempt. */
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

/** The answer headers to store: those that were sent and that no other column contains. */
function answeredHeaders(
  { failure }: EndedAttempt["result"],
  { held, client }: ClosedFrom,
): AnsweredHeaders | undefined {
  const { headers } = held;
  const droppedParams = droppedText(headers.droppedParams ?? []);
  const dropped = droppedParams === undefined ? undefined : { droppedParams };
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

/** The closing row of an attempt that a fault of our own ended. */
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
