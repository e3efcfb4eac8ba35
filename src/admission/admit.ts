import { unreachable } from "../core/assert.ts";
import { journalRetryAfterSeconds } from "../core/constants.ts";
import { formatUsd, type MicroUsd } from "../core/money.ts";
import { refusal, type LimitKind, type LimitScope, type Refusal } from "../core/refusals.ts";
import type { Ledger, ReserveOutcome, ReserveRow } from "../ledger/ledger-store.ts";
import {
  orgSlot,
  type ClaimOutcome,
  type LimitLease,
  type LimitStore,
  type ScopeClaim,
  type TokenCount,
} from "../limits/limit-store.ts";

/** A request that was let in: its limits are claimed and its worst case is held, durably. */
export interface Admission {
  readonly kind: "admitted";
  readonly lease: LimitLease;
}

export type AdmitOutcome = Admission | { readonly kind: "refused"; readonly refusal: Refusal };

export interface AdmitInput {
  readonly scopes: readonly ScopeClaim[];
  readonly tokens: TokenCount;
  readonly reserve: ReserveRow;
  /** Wall clock, for `retry_at`. */
  readonly nowMs: number;
  /** Monotonic clock, for the windows: a jump of the wall clock must not empty them. */
  readonly monotonicMs: number;
}

export interface Admitter {
  readonly limits: LimitStore;
  readonly ledger: Ledger;
}

/**
 * Claims limits and money together: one admission, or one refusal that leaves no trace. Limits come
 * first, because the cheap check protects the database.
 */
export async function admit(admitter: Admitter, input: AdmitInput): Promise<AdmitOutcome> {
  const { limits, ledger } = admitter;
  const claim = claimLimits(limits, input);
  // A store in memory answers at once: no turn of the event loop is spent on it.
  const claimed = claim instanceof Promise ? await claim : claim;
  if (claimed.kind === "refused") return claimed;
  let outcome: ReserveOutcome;
  try {
    outcome = await ledger.reserve(input.reserve);
  } catch (fault) {
    limits.undo(claimed.lease, input.monotonicMs);
    throw fault;
  }
  if (outcome.kind === "reserved") return claimed;
  limits.undo(claimed.lease, input.monotonicMs);
  return { kind: "refused", refusal: reserveRefusal(outcome, input.reserve.reserveMicroUsd) };
}

/** Claims the limits alone: for work that is counted but never reserves money. */
export function claimLimits(
  limits: LimitStore,
  input: Pick<AdmitInput, "scopes" | "tokens" | "nowMs" | "monotonicMs"> & {
    readonly reserve: Pick<ReserveRow, "orgId" | "keyId">;
  },
): AdmitOutcome | Promise<AdmitOutcome> {
  const answer = limits.claim({
    orgId: input.reserve.orgId,
    keyId: input.reserve.keyId,
    slot: orgSlot(input.reserve.orgId),
    scopes: input.scopes,
    ...input.tokens,
    nowMs: input.monotonicMs,
  });
  if (answer instanceof Promise) return answer.then((each) => admissionOf(each, input.nowMs));
  return admissionOf(answer, input.nowMs);
}

function admissionOf(outcome: ClaimOutcome, nowMs: number): AdmitOutcome {
  if (outcome.kind === "claimed") return { kind: "admitted", lease: outcome.lease };
  return { kind: "refused", refusal: claimRefusal(outcome, nowMs) };
}

const SCOPE_WORDS: Readonly<Record<LimitScope, string>> = {
  platform: "the platform",
  org: "the organization",
  workspace: "the workspace",
  principal: "the account",
  key: "this key",
  model: "this model",
  pool: "the provider's pool",
  endpoint: "the dedicated endpoint",
};

const LIMIT_WORDS: Readonly<Partial<Record<LimitKind, (limit: number) => string>>> = {
  rpm: (limit) => `${limit} requests per minute`,
  tpm: (limit) => `${limit} tokens per minute`,
  rps: (limit) => `${limit} requests per second`,
  rps_queue: (limit) => `${limit} requests per second, and its queue is full`,
  concurrency: (limit) => `${limit} requests in flight`,
  capacity: (limit) => (limit === 0 ? "nothing for a moment" : `${limit} in its declared window`),
};

function claimRefusal(outcome: Exclude<ClaimOutcome, { kind: "claimed" }>, nowMs: number): Refusal {
  if (outcome.kind === "unavailable") {
    return infrastructure("the limit store does not answer; nothing was sent and nothing charged");
  }
  const { scope, limitKind, id, limit, retryAfterSeconds } = outcome;
  const what = LIMIT_WORDS[limitKind]?.(limit) ?? "less than that";
  return refusal(
    "rate_limit",
    `${SCOPE_WORDS[scope]} is limited to ${what}; retry in ${retryAfterSeconds} s, GET /v1/limits shows what is left`,
    {
      origin: "gateway_admission",
      limit: { scope, kind: limitKind, id },
      retryAfterSeconds,
      retryAtMs: nowMs + retryAfterSeconds * 1000,
    },
  );
}

/** What a refused hold tells the caller: the numbers and the next step. */
export function reserveRefusal(
  outcome: Exclude<ReserveOutcome, { kind: "reserved" }>,
  needed: MicroUsd,
): Refusal {
  switch (outcome.kind) {
    case "unavailable":
      return infrastructure(
        "the ledger journal does not answer; nothing was sent and nothing charged",
      );
    case "low_balance": {
      const transient = outcome.availableMicroUsd + outcome.heldMicroUsd >= needed;
      const next = transient
        ? "retry when a running request has ended"
        : "buy credit or lower max_tokens";
      return refusal(
        "insufficient_quota",
        `this request may cost up to $${formatUsd(needed)}; $${formatUsd(outcome.availableMicroUsd)} is available and $${formatUsd(outcome.heldMicroUsd)} is held by running requests; ${next}`,
        {
          origin: "gateway_admission",
          limit: { scope: "org", kind: "spend" },
          retryable: transient,
        },
      );
    }
    case "cap": {
      const reset = new Date(outcome.resetAtMs).toISOString();
      const whose = outcome.scope === "org" ? "the organization's" : "this key's";
      return refusal(
        "insufficient_quota",
        `${whose} monthly spend cap (scope ${outcome.scope}) of $${formatUsd(outcome.capMicroUsd)} would be passed: $${formatUsd(outcome.settledMicroUsd)} is spent this month and $${formatUsd(outcome.inFlightMicroUsd)} in flight, this request may cost up to $${formatUsd(needed)}; lower max_tokens, raise the cap or resend after it resets at ${reset}`,
        {
          origin: "gateway_admission",
          limit: { scope: outcome.scope, kind: "spend" },
          retryable: false,
          capResetAtMs: outcome.resetAtMs,
        },
      );
    }
    default:
      return unreachable(outcome);
  }
}

function infrastructure(message: string): Refusal {
  return refusal("gateway_error", `${message}; retry in ${journalRetryAfterSeconds} seconds`, {
    status: 503,
    origin: "gateway_infrastructure",
    retryAfterSeconds: journalRetryAfterSeconds,
  });
}
