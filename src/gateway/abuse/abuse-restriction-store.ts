import type { AbuseRestriction, CallFamily } from "../accounts/account-rules.ts";
import type { OrgId } from "../../kernel/index.ts";

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
