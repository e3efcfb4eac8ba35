import { MANAGED_ORIGINS } from "../core/index.ts";
import {
  columns,
  type Columns,
  instantMs,
  integer,
  micro,
  orNull,
  text,
} from "../storage/index.ts";
import type { KeySummary } from "./key-store.ts";

/** Everything of a key but its digest. */
export const keyColumns: Columns<KeySummary> = columns({
  keyId: text("key_id"),
  orgId: text("org_id"),
  name: text("name"),
  label: text("label"),
  origin: text("origin"),
  requestsPerMinuteCeiling: integer("rpm_ceiling"),
  capMicroUsd: orNull(micro("cap_micro_usd")),
  createdAtMs: instantMs("created_at"),
  disabledAtMs: orNull(instantMs("disabled_at")),
});

/** Is this row one of a key that the marketplace keeps for itself? */
export const MANAGED_SQL: string = `origin in (${MANAGED_ORIGINS.map((each) => `'${each}'`).join(", ")})`;
