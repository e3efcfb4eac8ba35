import {
  DEPARTED_MODELS_MAX,
  type LimitKind,
  type LimitScope,
  memoizeByObject,
  type OrgId,
} from "../../kernel/index.ts";
import type { LimitValues } from "./limit-ceilings.ts";

export interface TokenCount {
  readonly tokens: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
}

/** A limit that is declared for a pool: it applies to every rolling window of this length. */
export interface DeclaredWindow {
  readonly kind: "request" | "prompt" | "completion";
  /**
   * The length, split into 60 buckets of a second, a minute or 24 minutes. A charge counts for the
   * length of the window, and at most one bucket longer.
   */
  readonly seconds: 60 | 3_600 | 86_400;
  readonly limit: number;
}

export interface Pace {
  /** Requests per second; above 0, may be a fraction. */
  readonly perSecond: number;
  /** The longest wait in milliseconds; a request that would wait longer is refused. */
  readonly waitMsMax: number;
}

/** The limits of one scope; an absent field means no limit. */
export interface LimitSet extends LimitValues {
  /** The most requests in one whole second of the store's clock. */
  readonly requestsPerSecond?: number;
  readonly paced?: Pace;
  readonly windows?: readonly DeclaredWindow[];
}

export interface ScopeClaim {
  readonly scope: LimitScope;
  /** A name that is unique in the whole installation: `key:<key id>`, … */
  readonly id: string;
  /** The id that clients see; default `id`. A model's `id` also names its organization or key. */
  readonly shownId?: string;
  readonly limits: LimitSet;
  /** The full limits and the seconds until they apply; absent unless the pool is throttled. */
  readonly whole?: { readonly limits: LimitSet; readonly inSeconds: number };
  /**
   * True if the request counts in the scope only towards `limits`, which may then be only those of
   * `LimitValues`. Default false: it counts towards limits of other claims on the scope, too.
   */
  readonly countsOnlyLimited?: boolean;
}

/** A claim of one request, whose tokens are an estimate that `release` corrects. */
export interface LimitClaim extends TokenCount {
  readonly orgId: OrgId;
  /**
   * Where a shared store keeps the claim: `orgSlot(orgId)`, `{endpoint:<id>}`, `{pool:<id>}` or
   * `{platform}`. A scope is always claimed under the same slot.
   */
  readonly slot: string;
  /** Narrowest scope first, because the refusal names the first scope that refuses. */
  readonly scopes: readonly ScopeClaim[];
  /**
   * Concurrency scopes of calls whose clients have left, checked last. Each must have a free place,
   * but the claim does not take it.
   */
  readonly departed?: readonly ScopeClaim[] | undefined;
  /** Monotonic milliseconds of the caller; a shared store uses its own clock instead. */
  readonly nowMs: number;
}

/** A granted claim. Pass it to `release` or `undo`, exactly once. */
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
      /** The limit that refused the claim; 0 if a cooldown refused it. */
      readonly limit: number;
      readonly retryAfterSeconds: number;
      /** Use before this request, and what it would add; absent for a cooldown or a full queue. */
      readonly used?: number;
      readonly asked?: number;
      /** True if the limit is full of calls whose clients have left. */
      readonly isDeparted?: true;
    }
  /** The store gave no answer in time, or too many claims wait for it: refuse the request. */
  | { readonly kind: "unavailable" };

export interface ScopeUsage {
  readonly requests: number;
  readonly tokens: number;
  readonly inFlight: number;
}

export interface LimitStore {
  /** Claims all of the scopes, or none; a refused claim leaves no trace in any of them. */
  claim(claim: LimitClaim): ClaimOutcome | Promise<ClaimOutcome>;
  /**
   * Call this at most once for each lease, when its client has left. Moves its concurrency place,
   * and nothing else, to the scopes `departed` of the same slot, even if those are full.
   */
  depart(lease: LimitLease, departed: readonly ScopeClaim[], nowMs: number): void;
  /** Ends the concurrency lease and replaces estimated tokens by the observed ones. */
  release(lease: LimitLease, observed: TokenCount, nowMs: number): void;
  /**
   * Undoes the whole claim of a request that was refused later. Its pacing turn stays unused if
   * other requests already wait behind it.
   */
  undo(lease: LimitLease, nowMs: number): void;
  /** Reads the use in the order of `scopes`; undefined if the store does not answer. */
  peek(
    asked: Pick<LimitClaim, "slot" | "scopes" | "nowMs">,
  ): Promise<readonly ScopeUsage[] | undefined>;
  /**
   * Refuses every claim on scope `id` for `seconds`, with kind `capacity`; a cooldown that ends
   * later stays.
   */
  cool(slot: string, id: string, seconds: number, nowMs: number): void;
}

export function orgSlot(orgId: OrgId): string {
  return `{org:${orgId}}`;
}

export function tokenCount(promptTokens: number, completionTokens: number): TokenCount {
  return { tokens: promptTokens + completionTokens, promptTokens, completionTokens };
}

export const NO_TOKENS: TokenCount = tokenCount(0, 0);

export function kindOfWindow({ kind, seconds }: DeclaredWindow): LimitKind {
  if (seconds !== 60) return "capacity";
  return kind === "request" ? "rpm" : "tpm";
}

/**
 * Returns how long a request that arrives at `nowUs` must wait, in whole microseconds. One number,
 * the start of the next free turn, represents the whole queue (virtual scheduling).
 */
export function pacingWaitUs(nextSlotUs: number, nowUs: number): number {
  return Math.max(0, nextSlotUs - nowUs);
}

/** Returns the microseconds between two turns, rounded up so that the pace is never exceeded. */
export function pacingIntervalUs(pace: Pace): number {
  return Math.ceil(1_000_000 / pace.perSecond);
}

export function pacingWaitUsMax(pace: Pace): number {
  return Math.floor(pace.waitMsMax * 1000);
}

/** Tells if the request counts towards this limit of the scope, even where only others limit it. */
export function countsTowards(
  { limits, countsOnlyLimited }: ScopeClaim,
  limit: keyof LimitValues,
): boolean {
  return countsOnlyLimited !== true || limits[limit] !== undefined;
}

export function countCharge(window: DeclaredWindow, tokens: TokenCount): number {
  if (window.kind === "request") return 1;
  return window.kind === "prompt" ? tokens.promptTokens : tokens.completionTokens;
}

/**
 * Finds the first limit that, even if it is unthrottled and unused, would refuse a request of this
 * size. Only token limits can be too small: every other limit allows at least one request.
 */
export function neverFits(scopes: readonly ScopeClaim[], tokens: TokenCount) {
  for (const scope of scopes) {
    const { tokensPerMinute: limit, windows } = scope.whole?.limits ?? scope.limits;
    if (limit !== undefined && tokens.tokens > limit) {
      return { scope, kind: "tpm" as const, limit, asked: tokens.tokens };
    }
    for (const window of windows ?? []) {
      const asked = window.kind === "request" ? 0 : countCharge(window, tokens);
      if (asked <= window.limit) continue;
      return { scope, kind: kindOfWindow(window), limit: window.limit, asked };
    }
  }
  return undefined;
}

/** If throttled scopes are too small for the request: seconds until they are whole; else 0. */
export function secondsThrottled(scopes: readonly ScopeClaim[], tokens: TokenCount): number {
  const waits = scopes.map(({ whole, ...now }) =>
    whole !== undefined && neverFits([now], tokens) !== undefined ? whole.inSeconds : 0,
  );
  return Math.max(0, ...waits);
}

/** Returns the most tokens that these scopes allow one request; infinite if none limits them. */
export function mostTokens(scopes: readonly ScopeClaim[]): TokenCount {
  const limits = scopes.map(({ whole, limits: now }) => whole?.limits ?? now);
  const windows = limits.flatMap((each) => each.windows ?? []);
  const ofKind = (kind: "prompt" | "completion"): number =>
    Math.min(...windows.flatMap((each) => (each.kind === kind ? [each.limit] : [])));
  return {
    tokens: Math.min(...limits.map(({ tokensPerMinute = Infinity }) => tokensPerMinute)),
    promptTokens: ofKind("prompt"),
    completionTokens: ofKind("completion"),
  };
}

const builtScopes = memoizeByObject(
  (_scopes: readonly ScopeClaim[]) => new Map<string | undefined, readonly ScopeClaim[]>(),
);

/**
 * Returns the concurrency scopes of calls whose clients have left; empty if concurrency is not
 * limited. For one model they allow as many calls as the widest of `scopes` allows in flight, and
 * for all models four times as many, so that a model whose provider sends nothing blocks only
 * itself. Equal arguments give the same array, because the Redis store caches by its identity.
 */
export function departedScopes(
  scopes: readonly ScopeClaim[],
  modelId: string | undefined,
): readonly ScopeClaim[] {
  const byModel = builtScopes(scopes);
  const known = byModel.get(modelId) ?? buildDepartedScopes(scopes, modelId);
  byModel.set(modelId, known);
  return known;
}

function buildDepartedScopes(
  scopes: readonly ScopeClaim[],
  modelId: string | undefined,
): readonly ScopeClaim[] {
  const widest = scopes.findLast(({ limits }) => limits.concurrent !== undefined);
  const concurrent = widest?.limits.concurrent;
  if (widest === undefined || concurrent === undefined) return [];
  const all: ScopeClaim = {
    scope: widest.scope,
    id: `departed@${widest.id}`,
    shownId: widest.shownId ?? widest.id,
    limits: { concurrent: DEPARTED_MODELS_MAX * concurrent },
  };
  if (modelId === undefined) return [all];
  const shownId = `model:${modelId}`;
  const ofModel = { id: `departed:${modelId}@${widest.id}`, shownId, limits: { concurrent } };
  return [{ scope: "model", ...ofModel }, all];
}
