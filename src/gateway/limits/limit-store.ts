import type { LimitKind, LimitScope, OrgId } from "../../kernel/index.ts";

/** Tokens of one request: in all, and how they split. */
export interface TokenCount {
  readonly tokens: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
}

/** A capacity that a provider declared: so much in any window of this length. */
export interface DeclaredWindow {
  readonly kind: "request" | "prompt" | "completion";
  /**
   * A window of an hour has buckets of a minute, a window of a day buckets of 24 minutes. A charge
   * counts for the window and at most one bucket longer.
   */
  readonly seconds: 60 | 3_600 | 86_400;
  readonly limit: number;
}

/** Requests that leave at an even rate: a short burst is delayed. */
export interface Pace {
  /** Above 0; need not be whole. */
  readonly perSecond: number;
  /** Longest turn to wait for, in milliseconds; beyond it the request is refused. */
  readonly waitMsMax: number;
}

/** The limits one scope may carry; undefined = this scope does not limit it. */
export interface LimitSet {
  readonly requestsPerMinute?: number;
  readonly tokensPerMinute?: number;
  readonly concurrent?: number;
  /** Requests in one whole second of the store's clock. */
  readonly requestsPerSecond?: number;
  readonly paced?: Pace;
  readonly windows?: readonly DeclaredWindow[];
}

export interface ScopeClaim {
  readonly scope: LimitScope;
  /** A name that is unique in the whole installation: `key:<key id>`, … */
  readonly id: string;
  /** The id that callers see, where it differs from `id` (`model:<model id>` of one organization). */
  readonly shownId?: string;
  readonly limits: LimitSet;
  /**
   * The limits that apply again when it is not throttled any more; absent if it is not throttled.
   */
  readonly whole?: { readonly limits: LimitSet; readonly inSeconds: number };
  /**
   * False: the request neither counts in nor is refused by what this scope allows in requests
   * (traffic that is exempt from the rule for organizations without credit). Default true.
   */
  readonly countsRequests?: boolean;
}

/** Tokens are the estimate, replaced by the observed ones at `release`. */
export interface LimitClaim extends TokenCount {
  readonly orgId: OrgId;
  /**
   * The slot under which a shared store keeps the claim: `orgSlot(orgId)`, `{pool:<id>}` or
   * `{platform}`. A scope is always claimed under the same slot.
   */
  readonly slot: string;
  /** Narrowest scope first, because the refusal names the first that refuses. */
  readonly scopes: readonly ScopeClaim[];
  /**
   * Scopes whose concurrency has to have a free place, which the claim itself does not take: calls
   * take it whose client left. Asked last.
   */
  readonly departed?: readonly ScopeClaim[] | undefined;
  /** Monotonic milliseconds of the caller; a shared store uses its own clock instead. */
  readonly nowMs: number;
}

/** A granted claim: pass it to `release` exactly once. Opaque to the caller. */
export interface LimitLease {
  readonly remainingRequests: number;
  readonly remainingTokens: number;
  /** Pacing delay of a request in milliseconds; 0 without a pace. */
  readonly queueMs: number;
}

export type ClaimOutcome =
  | { readonly kind: "claimed"; readonly lease: LimitLease }
  | {
      readonly kind: "refused";
      readonly scope: LimitScope;
      readonly limitKind: LimitKind;
      readonly id: string;
      /** The limit of the scope; 0 while it cools. */
      readonly limit: number;
      readonly retryAfterSeconds: number;
      /**
       * The use at the claim, and the amount that this request adds; absent while the scope cools
       * or queues.
       */
      readonly used?: number;
      readonly asked?: number;
      /** True if only calls whose clients have left count. */
      readonly isDeparted?: true;
    }
  /** The store did not answer: fail closed. */
  | { readonly kind: "unavailable" };

/** The use of a scope at this moment. */
export interface ScopeUsage {
  readonly requests: number;
  readonly tokens: number;
  readonly inFlight: number;
}

/** Rolling windows, rates and concurrency over several scopes at once. */
export interface LimitStore {
  /** Claims all of the scopes, or none; a refused claim leaves no trace in any of them. */
  claim(claim: LimitClaim): ClaimOutcome | Promise<ClaimOutcome>;
  /**
   * Moves the claim of a client that has left: it takes a place in these scopes of its slot, even
   * if they are full, and frees those that it was claimed for. Other charges stay. At most once.
   */
  depart(lease: LimitLease, departed: readonly ScopeClaim[], nowMs: number): void;
  /** Ends the concurrency lease and replaces estimated tokens by the observed ones. */
  release(lease: LimitLease, observed: TokenCount, nowMs: number): void;
  /**
   * Takes the whole claim back as if it had never been made, because the request was refused later.
   * A paced turn that others already wait behind stays unused, as it cannot be given twice.
   */
  undo(lease: LimitLease, nowMs: number): void;
  /**
   * The use of each of these scopes, in their order; claims nothing. Undefined if the store does
   * not answer.
   */
  peek(
    asked: Pick<LimitClaim, "slot" | "scopes" | "nowMs">,
  ): Promise<readonly ScopeUsage[] | undefined>;
  /** Refuses every claim on scope `id`, kind `capacity`, for `seconds`; a longer rest stays. */
  cool(slot: string, id: string, seconds: number, nowMs: number): void;
}

/** The slot of an organization: its own scope, its keys and its models. */
export function orgSlot(orgId: OrgId): string {
  return `{org:${orgId}}`;
}

/** Tokens of a request from its two parts. */
export function tokenCount(promptTokens: number, completionTokens: number): TokenCount {
  return { tokens: promptTokens + completionTokens, promptTokens, completionTokens };
}

/** The kind that a refusal by a declared window is reported as. */
export function kindOfWindow({ kind, seconds }: DeclaredWindow): LimitKind {
  if (seconds !== 60) return "capacity";
  return kind === "request" ? "rpm" : "tpm";
}

/**
 * Virtual scheduling: the time of the next free slot represents the whole queue. First
 * come, first served, without a queue to keep. Times are whole microseconds.
 */
export function pacingWaitUs(nextSlotUs: number, nowUs: number): number {
  return Math.max(0, nextSlotUs - nowUs);
}

/** From one turn to the next; rounded up, so that the pace is never exceeded. */
export function pacingIntervalUs(pace: Pace): number {
  return Math.ceil(1_000_000 / pace.perSecond);
}

/** The longest wait that is still accepted. */
export function pacingWaitUsMax(pace: Pace): number {
  return Math.floor(pace.waitMsMax * 1000);
}
