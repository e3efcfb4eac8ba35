import type { LimitKind } from "../../kernel/index.ts";
import { countCharge } from "./rolling-window.ts";
import { kindOfWindow, type ScopeClaim, type TokenCount } from "./limit-store.ts";

/** A limit that is smaller than one request: waiting does not help. */
export interface NeverFits {
  readonly scope: ScopeClaim;
  readonly kind: LimitKind;
  readonly limit: number;
  readonly asked: number;
}

/**
 * Finds the first limit that would refuse a request of this size even if it were idle; undefined if
 * the request fits. Only token limits can be too small: every other limit allows at least one
 * request.
 */
export function neverFits(
  scopes: readonly ScopeClaim[],
  tokens: TokenCount,
): NeverFits | undefined {
  for (const scope of scopes) {
    const { tokensPerMinute: limit, windows } = scope.whole?.limits ?? scope.limits;
    if (limit !== undefined && tokens.tokens > limit) {
      return { scope, kind: "tpm", limit, asked: tokens.tokens };
    }
    for (const window of windows ?? []) {
      const asked = window.kind === "request" ? 0 : countCharge(window, tokens, true);
      if (asked <= window.limit) continue;
      return { scope, kind: kindOfWindow(window), limit: window.limit, asked };
    }
  }
  return undefined;
}

/** Seconds until no throttle makes these scopes too small for the request; 0: none does. */
export function secondsThrottled(scopes: readonly ScopeClaim[], tokens: TokenCount): number {
  const waits = scopes.map(({ whole, ...now }) =>
    whole !== undefined && neverFits([now], tokens) !== undefined ? whole.inSeconds : 0,
  );
  return Math.max(0, ...waits);
}

/**
 * The most tokens of one request that all of these scopes allow; infinite if none limits tokens.
 */
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
