import type { ChangedBy } from "../changes/index.ts";
import type { OrgId } from "../core/index.ts";
import type { EndpointLimits, LimitTarget, StoredLimit } from "../limits/index.ts";
import type { DedicatedEndpoint, RoutingPolicy } from "./account-rules.ts";
import type { KeyRecord } from "./key-store.ts";

export type { LimitTarget };

/** Absent: unchanged. Null: removed, the default applies again. */
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

/** What operators and customers set for an organization. */
export interface RulesStore {
  /** The key as `KeyStore.findByDigests` would read it now, past every cache. */
  findKey(keyId: string): Promise<KeyRecord | undefined>;
  listLimits(orgId: OrgId): Promise<readonly StoredLimit[]>;
  /**
   * Changes one stored limit; a limit without any value left is gone. Answers what is stored then.
   * The caller has checked the values against the ceilings. Undefined: no such organization, or the
   * key is none of its keys.
   */
  changeLimit(
    orgId: OrgId,
    target: LimitTarget,
    change: LimitChange,
    by: ChangedBy,
  ): Promise<StoredLimit | undefined>;
  setKeysMaySetOrgLimits(orgId: OrgId, may: boolean, by: ChangedBy): Promise<boolean>;
  /**
   * Gives the private manifest to the organization. `taken`: it belongs to an endpoint already.
   * Undefined: there is no such organization.
   */
  createEndpoint(
    endpoint: NewEndpoint,
    by: ChangedBy,
  ): Promise<EndpointRecord | "taken" | undefined>;
  listEndpoints(orgId?: OrgId): Promise<readonly EndpointRecord[]>;
  /** False: no such endpoint, or it was removed before. */
  removeEndpoint(endpointId: string, by: ChangedBy): Promise<boolean>;
  /** Replaces the policy whole; an empty one removes it. False: no such organization. */
  setPolicy(orgId: OrgId, policy: RoutingPolicy, by: ChangedBy): Promise<boolean>;
  findPolicy(orgId: OrgId): Promise<RoutingPolicy | undefined>;
}
