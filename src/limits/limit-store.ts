import type { KeyId, OrgId } from "../core/ids.ts";
import type { LimitKind, LimitScope } from "../core/refusals.ts";

/** The three limits one scope may carry; undefined = this scope does not limit it. */
export interface LimitSet {
  readonly requestsPerMinute?: number;
  readonly tokensPerMinute?: number;
  readonly concurrent?: number;
}

export interface ScopeClaim {
  readonly scope: LimitScope;
  /** `key:<key id>`, `org:<org id>`, `model:<model id>`, …: identity and `x-tm-limit-id`. */
  readonly id: string;
  readonly limits: LimitSet;
  /**
   * False: the request neither counts in nor is refused by this scope's requests per minute
   * (traffic that is exempt from the rule for organizations without credit). Default true.
   */
  readonly countsRequests?: boolean;
}

export interface LimitClaim {
  readonly orgId: OrgId;
  readonly keyId: KeyId;
  /** Narrowest scope first: that one is named when several refuse at once. */
  readonly scopes: readonly ScopeClaim[];
  /** Estimated tokens, replaced by the observed ones at `release`. */
  readonly tokens: number;
  /** Monotonic milliseconds of the caller; a shared store goes by its own clock instead. */
  readonly nowMs: number;
}

/** A granted claim: hand it back to `release` exactly once. Opaque to the caller. */
export interface LimitLease {
  readonly remainingRequests: number;
  readonly remainingTokens: number;
}

export type ClaimOutcome =
  | { readonly kind: "claimed"; readonly lease: LimitLease }
  | {
      readonly kind: "refused";
      readonly scope: LimitScope;
      readonly limitKind: LimitKind;
      readonly id: string;
      readonly limit: number;
      readonly retryAfterSeconds: number;
    }
  /** The store did not answer: fail closed. */
  | { readonly kind: "unavailable" };

/** Rolling windows and concurrency over several scopes at once. */
export interface LimitStore {
  /** Claims all of these or none; a refused claim leaves no trace in any scope. */
  claim(claim: LimitClaim): ClaimOutcome | Promise<ClaimOutcome>;
  /** Ends the concurrency lease and replaces estimated tokens by `observedTokens`. */
  release(lease: LimitLease, observedTokens: number, nowMs: number): void;
  /** Takes the whole claim back, as if it had never been made: the request was refused later on. */
  undo(lease: LimitLease, nowMs: number): void;
}
