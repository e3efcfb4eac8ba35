import type { AttemptId, KeyId, ModelId, OrgId, ProviderId, RequestId } from "../core/ids.ts";
import { microUsd } from "../core/money.ts";
import type { AdoptedAttempt } from "./ledger-batch-store.ts";

export interface AdoptedRow {
  readonly attempt_id: bigint;
  readonly request_id: string;
  readonly org_id: string;
  readonly key_id: string;
  readonly model_id: string;
  readonly provider_id: string;
  readonly upstream_model_id: string;
  readonly provider_job_id: string;
  readonly reserve: bigint;
}

export function adoptedAttempt(row: AdoptedRow): AdoptedAttempt {
  return {
    attemptId: row.attempt_id as AttemptId,
    requestId: row.request_id as RequestId,
    orgId: row.org_id as OrgId,
    keyId: row.key_id as KeyId,
    modelId: row.model_id as ModelId,
    providerId: row.provider_id as ProviderId,
    upstreamModelId: row.upstream_model_id,
    providerJobId: row.provider_job_id,
    reserveMicroUsd: microUsd(row.reserve),
  };
}
