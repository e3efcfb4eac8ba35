import { type Static, Type } from "typebox";

import {
  ChangedLimit,
  LimitChange,
  LimitSource,
} from "../../../gateway/records/contract/limit-change.ts";
import { CapChange, Confirm, Count, Fields, Id, Instant, nullable, oneOf, Usd } from "./shared.ts";
import { refusalFields } from "./usage.ts";

const LimitValue = Type.Object({
  ceiling: nullable(Count),
  own: nullable(Count),
  effective: nullable(Count),
  source: LimitSource,
  used: nullable(Count),
});
export type LimitValue = Static<typeof LimitValue>;

export const LimitRow = Type.Object({
  scope: oneOf("org", "key", "model", "endpoint"),
  key_id: nullable(Id),
  /** By `scope`: the name of the key or organization, the model's id or the endpoint's provider. */
  name: Type.String(),
  model: nullable(Type.String()),
  rpm: LimitValue,
  tpm: LimitValue,
  concurrency: LimitValue,
});
export type LimitRow = Static<typeof LimitRow>;

const Cap = Type.Object({
  scope: oneOf("org", "key"),
  key_id: nullable(Id),
  name: Type.String(),
  cap_usd: nullable(Usd),
  spent_usd: Usd,
  in_flight_usd: Usd,
});

export const Limits = Type.Object({
  rows: Type.Array(LimitRow),
  caps: Type.Array(Cap),
  cap_reset_at: Instant,
  is_funded: Type.Boolean(),
});
export type Limits = Static<typeof Limits>;

export const limitRoutes = {
  "GET /api/console/limits": {
    summary: "Every limit and cap with its current use",
    command: {
      usage: "limits show",
      columns:
        "scope key_id name model rpm.effective rpm.source tpm.effective tpm.source " +
        "concurrency.effective concurrency.source cap_usd spent_usd",
    },
    needs: "read",
    gate: "reads",
    answer: Limits,
  },
  "POST /api/admission-limits": {
    summary: "Lowers or removes a limit; the gateway's route, with a session instead of a key",
    needs: "keys",
    isSetting: true,
    body: LimitChange,
    answer: ChangedLimit,
  },
  "PATCH /api/console/org-cap": {
    summary:
      "Sets the organization's monthly cap; empty changes nothing, 0 removes it. One that is already spent stops all requests and needs confirm",
    command: {
      usage: "org cap <org_id>",
      columns: "scope key_id name cap_usd spent_usd in_flight_usd",
    },
    changes: ["org.cap"],
    needs: "billing",
    gate: "reads",
    isSetting: true,
    body: Fields({
      cap_usd: Type.Optional(nullable(CapChange("month"))),
      confirm: Confirm,
    }),
    answer: Limits,
  },
  "GET /api/console/refusals/:request_id": {
    summary: "Explains why a request was rejected",
    needs: "read",
    gate: "reads",
    params: Type.Object({ request_id: Id }),
    answer: Type.Object({ request_id: Id, at: Instant, ...refusalFields }),
  },
} as const;
