import type { AbuseRestriction, CallFamily } from "../accounts/index.ts";
import type { ChangedBy } from "../changes/index.ts";
import type { OrgId } from "../core/index.ts";

/** Unusual use that a process has seen and wants to be acted upon. */
export interface UsageFinding {
  readonly orgId: OrgId;
  readonly family: CallFamily;
  /** What was unusual, with figures: for operators and support, never for the customer. */
  readonly reason: string;
  /** How long ago the oldest request ended that counts in it, in milliseconds. */
  readonly ageMs: number;
  /** How long a first finding limits, from now on, in milliseconds. */
  readonly limitedMs: number;
  /** A finding so soon after the end of a limited hold restricts, in milliseconds. */
  readonly repeatMs: number;
}

/** One hold as operators see it. */
export interface AbuseRestrictionRecord extends AbuseRestriction {
  readonly orgId: OrgId;
  readonly reason: string;
  readonly createdAtMs: number;
  readonly liftedAtMs: number | null;
  /** Is it refusing requests now? Not when it has ended, was lifted, or credit was bought. */
  readonly isInEffect: boolean;
}

/** What unusual use has led to; shared by every process, and the truth for all of them. */
export interface AbuseRestrictionStore {
  /**
   * Answers with the hold that is in effect then, which of two processes with the same finding only
   * the first has made: limited, or restricted when a limited one has ended lately. Undefined: no
   * hold came of it, because credit was bought, or because the finding reaches back before the last
   * hold, or before its lifting, and is not new behaviour.
   */
  record(finding: UsageFinding): Promise<AbuseRestriction | undefined>;
  /** Newest first, a thousand at most; without `isWithPast` only those in effect. */
  list(filter: {
    readonly orgId?: OrgId;
    readonly isWithPast: boolean;
  }): Promise<readonly AbuseRestrictionRecord[]>;
  /**
   * Ends the holds of one kind of request, or of all, for good: those that have ended by themselves
   * do not count as a first time any more. Answers with what it lifted, newest first. `why` is for
   * the change log, and only operators see it there.
   */
  lift(
    orgId: OrgId,
    family: CallFamily | undefined,
    by: ChangedBy,
    why?: string,
  ): Promise<readonly AbuseRestrictionRecord[]>;
}
