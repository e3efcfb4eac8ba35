import { usageOf, type UsageColumns } from "../ledger/attempt-columns.ts";
import type { AttemptOutcome, SettlementBasis } from "../ledger/ledger-store.ts";
import type { AttemptRecord, RequestRecord } from "./record-store.ts";
import { microUsd } from "../core/money.ts";
import type { RequestId } from "../core/ids.ts";

export interface AttemptRow extends UsageColumns {
  readonly ordinal: number;
  readonly key_id: string;
  readonly model_id: string;
  readonly provider_id: string;
  readonly upstream_model_id: string;
  readonly route: string;
  readonly stream: boolean;
  readonly created_at: Date;
  readonly started_at: Date | null;
  readonly first_byte_ms: number | null;
  readonly duration_ms: number | null;
  readonly state: "open" | "settled" | "void" | "unknown_after_crash";
  readonly outcome: AttemptOutcome | "unknown_after_crash" | null;
  readonly basis: SettlementBasis | null;
  readonly upstream_status: number | null;
  readonly error_class: string | null;
  readonly served_model: string | null;
  readonly substituted: boolean | null;
  readonly reserve: bigint;
  readonly debit: bigint;
}

export interface RefusedRow {
  readonly key_id: string;
  readonly model_id: string | null;
  readonly route: string;
  readonly stream: boolean;
  readonly created_at: Date;
}

export function servedOf({ served_model: name, substituted }: AttemptRow): AttemptRecord["served"] {
  return name === null ? null : { name, isSubstituted: substituted === true };
}

export function attemptRecord(row: AttemptRow): AttemptRecord {
  return {
    ordinal: row.ordinal,
    providerId: row.provider_id,
    upstreamModelId: row.upstream_model_id,
    startedAtMs: (row.started_at ?? row.created_at).getTime(),
    firstByteMs: row.first_byte_ms,
    durationMs: row.duration_ms,
    outcome: row.state === "open" ? "in_flight" : (row.outcome ?? "failed"),
    upstreamStatus: row.upstream_status,
    errorClass: row.error_class,
    served: servedOf(row),
    usage: usageOf(row),
    reserveMicroUsd: microUsd(row.reserve),
    debitMicroUsd: microUsd(row.debit),
    basis: row.basis,
  };
}

export function refusedRecord(requestId: RequestId, row: RefusedRow): RequestRecord {
  return {
    requestId,
    keyId: row.key_id,
    modelId: row.model_id,
    route: row.route,
    stream: row.stream,
    createdAtMs: row.created_at.getTime(),
    outcome: "refused",
    attempts: [],
  };
}
