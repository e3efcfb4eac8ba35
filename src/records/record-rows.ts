import { closedColumns, heldColumns, journalColumns, servedColumns } from "../ledger/index.ts";
import { columns, type Columns, computed, instantMs, orNull, word } from "../storage/index.ts";
import type { AttemptRecord, RequestRecord } from "./record-store.ts";

/** An attempt of a request, over rows of `journal`. */
export const attemptColumns: Columns<AttemptRecord> = columns({
  ordinal: heldColumns.ordinal,
  providerId: heldColumns.providerId,
  upstreamModelId: heldColumns.upstreamModelId,
  startedAtMs: computed("coalesce(started_at, created_at)", instantMs("started_at")),
  firstByteMs: closedColumns.firstByteMs,
  durationMs: orNull(closedColumns.durationMs),
  outcome: computed(
    "case when state = 'open' then 'in_flight' else coalesce(outcome, 'failed') end",
    word("outcome"),
  ),
  upstreamStatus: closedColumns.upstreamStatus,
  errorClass: closedColumns.errorClass,
  served: orNull(servedColumns),
  usage: closedColumns.usage,
  reserveMicroUsd: heldColumns.reserveMicroUsd,
  debitMicroUsd: journalColumns.debitMicroUsd,
  basis: orNull(closedColumns.basis),
});

/** What the attempts of a request have in common, and what is kept of a refused one. */
export const requestColumns: Columns<
  Pick<RequestRecord, "keyId" | "modelId" | "route" | "stream">
> = columns({
  keyId: heldColumns.keyId,
  modelId: orNull(heldColumns.modelId),
  route: heldColumns.route,
  stream: heldColumns.stream,
});
