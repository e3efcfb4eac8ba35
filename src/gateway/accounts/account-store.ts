import type { Caps, MicroUsd, OrgId } from "../../kernel/index.ts";
import type { EndpointLimits, LimitTarget } from "../limits/limit-ceilings.ts";
import type { DedicatedEndpoint } from "./account-rules.ts";

export interface OrgSummary {
  readonly orgId: OrgId;
  readonly name: string;
  readonly email: string;
  readonly balanceMicroUsd: MicroUsd;
  readonly heldMicroUsd: MicroUsd;
  readonly createdAtMs: number;
  readonly capMicroUsd: MicroUsd | null;
  readonly isFunded: boolean;
  readonly keysMaySetOrgLimits: boolean;
}

/** The changes to a key; an absent field stays as it is. */
export interface KeyEdit {
  readonly name?: string;
  /** The caps to change; null removes one. */
  readonly caps?: Partial<Caps>;
  /** Null if it never expires. */
  readonly expiresAtMs?: number | null;
  /** Null for every model. */
  readonly models?: readonly string[] | null;
  readonly tags?: readonly string[];
  /** The new secret of one key. The old secret works until `oldUntilMs`; null ends it at once. */
  readonly rotate?: {
    readonly digest: Buffer;
    readonly label: string;
    readonly oldUntilMs: number | null;
  };
  /** Permanent; a key that is disabled already keeps its instant. */
  readonly disable?: true;
  /** A limit that is changed together with the key. */
  readonly limit?: { readonly target: LimitTarget; readonly change: LimitChange };
}

/**
 * The keys that an operation may see: for an organization, its own keys without the managed ones;
 * for operators, every key.
 */
export type Whose = OrgId | "anyone";

/** An absent limit is unchanged. Null removes it, so that the default applies again. */
export interface LimitChange {
  readonly requestsPerMinute?: number | null;
  readonly tokensPerMinute?: number | null;
  readonly concurrent?: number | null;
}

export interface EndpointRecord extends DedicatedEndpoint {
  readonly orgId: OrgId;
  readonly createdAtMs: number;
}

export interface NewEndpoint {
  readonly orgId: OrgId;
  readonly providerId: string;
  readonly limits: EndpointLimits;
}

/** An organization as operators see it. */
export interface ListedOrg extends OrgSummary {
  /** True if it has bought credit, or credit that was granted as bought. */
  readonly hasBought: boolean;
  /** True if a purchase was paid. */
  readonly hasPurchase: boolean;
  readonly spentMonthMicroUsd: MicroUsd;
  /** The number of active restrictions after unusual use. */
  readonly restrictions: number;
}
