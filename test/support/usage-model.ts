import {
  type AttemptEnd,
  REQUEST_STATUSES,
  type RequestStatus,
  toRequestStatus,
} from "../../src/kernel/core/request-status.ts";
import type { ReportFigures, ReportGroupBy } from "../../src/gateway/records/report-query.ts";
import type { ReportFilter } from "../../src/gateway/records/request-rows.ts";
import type { FreshBackend } from "./postgres.ts";

/** One request with its figures, computed from its rows in the plainest way. */
export interface ModelRequest {
  readonly id: string;
  readonly ms: number;
  readonly key: string;
  readonly origin: string;
  readonly model: string;
  readonly provider: string;
  readonly status: RequestStatus;
  readonly attempts: number;
  readonly debit: bigint;
  readonly tokens: readonly number[];
  readonly firstByteMs: number | null;
}

interface Row {
  readonly [column: string]: unknown;
}

const TOKENS = ["prompt", "cached_prompt", "cache_write", "completion", "internal_reasoning"];

/** Returns every request of an organization, newest first, computed row by row. */
export async function readRequests(backend: FreshBackend, orgId: string): Promise<ModelRequest[]> {
  const attempts = await backend.query(
    "select *, debit::text as d from journal where org_id = $1 order by ordinal, attempt_id",
    [orgId],
  );
  const refused = await backend.query("select * from refused_request where org_id = $1", [orgId]);
  const keys = await backend.query("select key_id, origin from api_key");
  const originOf = new Map(keys.map((row) => [row["key_id"], String(row["origin"])]));
  const byRequest = new Map<string, Row[]>();
  for (const row of attempts) {
    const id = String(row["request_id"]);
    byRequest.set(id, [...(byRequest.get(id) ?? []), row]);
  }
  const common = (row: Row) => ({
    id: String(row["request_id"]),
    ms: Number.parseInt(String(row["request_id"]).replaceAll("-", "").slice(0, 12), 16),
    key: String(row["key_id"]),
    origin: originOf.get(row["key_id"]) ?? "",
    model: (row["model_id"] as string | null) ?? "none",
  });
  const requests: ModelRequest[] = [...byRequest.values()].map((rows) => {
    const last = rows.at(-1) as Row;
    const isOpen = rows.some((row) => row["state"] === "open");
    const outcome = (last["outcome"] ?? "failed") as AttemptEnd;
    const errorClass = last["error_class"] as string | null;
    return {
      ...common(last),
      provider: String(last["provider_id"]),
      status: isOpen ? "in_flight" : toRequestStatus({ attempts: 1, outcome, errorClass }),
      attempts: rows.length,
      debit: rows.reduce((sum, row) => sum + BigInt(String(row["d"])), 0n),
      tokens: TOKENS.map((name) => rows.reduce((sum, row) => sum + Number(row[name] ?? 0), 0)),
      firstByteMs: last["first_byte_ms"] as number | null,
    };
  });
  for (const row of refused) {
    if (byRequest.has(String(row["request_id"]))) continue;
    requests.push({
      ...common(row),
      provider: "none",
      status: toRequestStatus({
        attempts: 0,
        outcome: "refused",
        errorClass: String(row["error_class"]),
      }),
      attempts: 0,
      debit: 0n,
      tokens: TOKENS.map(() => 0),
      firstByteMs: null,
    });
  }
  return requests.toSorted((a, b) => (a.id < b.id ? 1 : -1));
}

const MANAGED = new Set(["playground", "optimize"]);

export function matches(request: ModelRequest, filter: ReportFilter): boolean {
  const { modelIds, providerIds, keyIds, managed, statuses, fromMs, toMs } = filter;
  const isManaged = MANAGED.has(request.origin);
  return (
    request.ms >= fromMs &&
    request.ms < toMs &&
    (modelIds === undefined || modelIds.includes(request.model)) &&
    (providerIds === undefined || providerIds.includes(request.provider)) &&
    ((keyIds === undefined && managed === undefined) ||
      (keyIds?.includes(request.key) === true && !isManaged) ||
      managed?.some((origin) => origin === request.origin) === true) &&
    (statuses === undefined || statuses.includes(request.status))
  );
}

export function groupOf(request: ModelRequest, by: ReportGroupBy): string {
  if (by === "day") return new Date(request.ms).toISOString().slice(0, 10);
  if (by === "key") return MANAGED.has(request.origin) ? request.origin : request.key;
  return request[by];
}

/** Returns all figures except the time to the first byte, of which a report has only estimates. */
export function figuresOf(requests: readonly ModelRequest[]) {
  const token = (at: number): number =>
    requests.reduce((sum, request) => sum + (request.tokens[at] ?? 0), 0);
  return {
    requests: requests.length,
    byStatus: Object.fromEntries(
      Object.keys(REQUEST_STATUSES).map((status) => [
        status,
        requests.filter((request) => request.status === status).length,
      ]),
    ),
    debitMicroUsd: requests.reduce((sum, request) => sum + request.debit, 0n),
    usage: {
      prompt: token(0),
      cachedPrompt: token(1),
      cacheWrite: token(2),
      completion: token(3),
      internalReasoning: token(4),
    },
  };
}

export function exactOf({ firstByteP50Ms: _p50, firstByteP95Ms: _p95, ...exact }: ReportFigures) {
  return exact;
}

/** The relative difference of a report's percentile from the exact one; 0 if neither exists. */
export function offBy(reported: number | null, requests: readonly ModelRequest[], share: number) {
  const values = requests.flatMap(({ firstByteMs }) => firstByteMs ?? []).toSorted((a, b) => a - b);
  const exact = values[Math.ceil(share * values.length) - 1];
  if (exact === undefined || reported === null) return (reported ?? undefined) === exact ? 0 : 1;
  // Below 32 ms, reports count each millisecond separately, so the difference is in milliseconds.
  return exact < 32 ? Math.abs(reported - exact) : Math.abs(reported - exact) / exact;
}
