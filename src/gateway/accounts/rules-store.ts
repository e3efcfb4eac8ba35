import type { OrgId } from "../../kernel/index.ts";
import type { EndpointLimits, LimitTarget } from "../limits/stored-limit.ts";
import type { DedicatedEndpoint } from "./account-rules.ts";

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
