import { type Static, Type } from "typebox";

import { byCapField } from "../../../kernel/core/cap-period.ts";
import {
  CapChange,
  Confirm,
  Count,
  Fields,
  Id,
  Instant,
  Name,
  nullable,
  oneOf,
  reads,
  setting,
  Usd,
} from "./shared.ts";
import {
  ChangedLimit,
  LimitChange,
  LimitSource,
} from "../../../gateway/records/contract/limit-change.ts";
import { refusalFields } from "./usage.ts";

export type { CapField, CapPeriod, Caps } from "../../../kernel/core/cap-period.ts";

export const Key = Type.Object({
  key_id: Id,
  name: Type.String(),
  label: Type.String(),
  origin: oneOf("trial", "console", "identity"),
  created_at: Instant,
  disabled_at: nullable(Instant),
  expires_at: nullable(Instant),
  is_expired: Type.Boolean(),
  models: nullable(Type.Array(Type.String())),
  last_used_at: nullable(Instant),
  old_works_until: nullable(Instant),
  rpm_ceiling: Count,
  rpm: nullable(Count),
  rpm_effective: Count,
  ...byCapField(() => nullable(Usd)),
  spent_month_usd: Usd,
  spent_week_usd: nullable(Usd),
  spent_day_usd: nullable(Usd),
  tags: Type.Array(Type.String()),
});
export type Key = Static<typeof Key>;

const resets = { cap_reset_at: Instant, week_reset_at: Instant, day_reset_at: Instant };

export const KeyList = Type.Object({
  data: Type.Array(Key),
  ...resets,
  rpm_max: Count,
});
export type KeyList = Static<typeof KeyList>;

export const KeyDetail = Type.Object({
  key: Key,
  ...resets,
  days: Type.Array(Type.Object({ day: Type.String(), requests: Count, spent_usd: Usd })),
});
export type KeyDetail = Static<typeof KeyDetail>;

export const KEY_MODELS_MAX = 100;

const ModelIds = Type.Array(Type.String({ minLength: 1, maxLength: 256 }), {
  maxItems: KEY_MODELS_MAX,
  description: `at most ${KEY_MODELS_MAX} ids of models; an empty list allows every one`,
});

const Expiry = Type.String({
  maxLength: 30,
  description: "an instant in UTC such as 2027-01-31T00:00:00Z, or `never`",
});

const Tags = Type.Array(Type.String({ minLength: 1, maxLength: 32 }), {
  maxItems: 10,
  description: "at most 10 tags of 1 to 32 letters, digits or . _ - : /",
});

export const NewKey = Fields({
  name: Name,
  rpm: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1_000_000,
      description: "a whole number of at least 1 request per minute, up to the ceiling",
    }),
  ),
  ...byCapField((period) => Type.Optional(CapChange(period))),
  tags: Type.Optional(Tags),
  expires_at: Type.Optional(Expiry),
  models: Type.Optional(ModelIds),
});

export const CreatedKey = Type.Object({
  secret: Type.String(),
  key: Key,
});
export type CreatedKey = Static<typeof CreatedKey>;

const RpmChange = Type.Integer({
  minimum: 0,
  description: "a whole number of at least 0 requests per minute; 0: the ceiling holds again",
});

const CapChanges = byCapField((period) => Type.Optional(nullable(CapChange(period))));

const KeyIds = Type.Array(Id, {
  minItems: 1,
  maxItems: 100,
  description: "from 1 to 100 ids of keys",
});

/** A field that is absent, null or `""` changes nothing; `tags` of `[]` removes the tags. */
export const KeyChange = Fields({
  name: Type.Optional(Name),
  rpm: Type.Optional(nullable(Type.Union([RpmChange, Type.Literal("")]))),
  expires_at: Type.Optional(nullable(Expiry)),
  models: Type.Optional(nullable(ModelIds)),
  ...CapChanges,
  tags: Type.Optional(nullable(Tags)),
  confirm: Confirm,
});
export type KeyChange = Static<typeof KeyChange>;

export const KeysChange = Fields({
  key_ids: KeyIds,
  ...CapChanges,
  expires_at: Type.Optional(nullable(Expiry)),
  tags: Type.Optional(nullable(Tags)),
  confirm: Confirm,
});

export const ChangedKeys = Type.Object({ changed: Count });

export const RotatedKey = Type.Object({
  secret: Type.String(),
  old_works_until: nullable(Instant),
  key: Key,
});
export type RotatedKey = Static<typeof RotatedKey>;

const rotation = {
  summary: "Gives a key another secret, shown only here; it stays the same key in all else",
  ...setting("keys"),
  changes: ["key.rotate"],
  body: Fields({
    grace_hours: Type.Integer({
      minimum: 0,
      maximum: 72,
      description: "a whole number of hours from 0 to 72 for which the old secret works too",
    }),
  }),
  answer: RotatedKey,
} as const;

export const keyRoutes = {
  "GET /api/console/keys": {
    summary: "The organization's keys, newest first",
    command: {
      usage: "key list",
      columns: "key_id name label rpm_effective cap_usd spent_month_usd disabled_at",
    },
    ...reads,
    answer: KeyList,
  },
  "POST /api/console/keys": {
    summary: "Creates a named key; only this answer contains the full key",
    command: { usage: "key create", readsCatalog: true },
    changes: ["key.create", "limit.change", "key.disable"],
    ...setting("keys"),
    body: NewKey,
    answer: CreatedKey,
  },
  "POST /api/identity/keys": {
    summary: "The same for programs that have a session: a key of the identity API",
    changes: ["key.create", "limit.change", "key.disable"],
    ...setting("keys"),
    body: NewKey,
    answer: CreatedKey,
  },
  "GET /api/console/keys/:key_id": {
    summary: "One key with its spend by day",
    command: { usage: "key show <key_id>" },
    ...reads,
    answer: KeyDetail,
  },
  "PATCH /api/console/keys/:key_id": {
    summary: "Changes a key's name, limit, caps, expiry, models and tags: all together or none",
    command: { usage: "key change <key_id>", readsCatalog: true },
    changes: [
      "key.rename",
      "key.cap",
      "key.week-cap",
      "key.day-cap",
      "key.expiry",
      "key.models",
      "key.tags",
      "limit.change",
    ],
    ...setting("keys"),
    body: KeyChange,
    answer: Key,
  },
  "POST /api/console/keys/change": {
    summary: "Changes caps, expiry or tags of up to 100 keys: all of them or none",
    command: { usage: "key change-many" },
    changes: ["key.cap", "key.week-cap", "key.day-cap", "key.expiry", "key.tags"],
    ...setting("keys"),
    body: KeysChange,
    answer: ChangedKeys,
  },
  "POST /api/console/keys/disable": {
    summary: "Disables up to 100 keys permanently: all of them or none",
    command: { usage: "key disable-many", typed: ["confirm_count"] },
    changes: ["key.disable"],
    ...setting("keys"),
    body: Fields({
      key_ids: KeyIds,
      confirm_count: Type.Integer({ minimum: 1, description: "how many keys these are" }),
    }),
    answer: ChangedKeys,
  },
  "POST /api/console/keys/:key_id/rotate": {
    ...rotation,
    command: { usage: "key rotate <key_id>" },
  },
  "POST /api/identity/keys/:key_id/rotate": rotation,
  "POST /api/console/keys/:key_id/disable": {
    summary: "Disables a key permanently; it may work for up to 5 more seconds",
    command: { usage: "key disable <key_id>", typed: ["confirm_name"] },
    changes: ["key.disable"],
    ...setting("keys"),
    /** The person types the key's name, so as not to disable the wrong key. */
    body: Fields({
      confirm_name: Type.String({ description: "the name of the key, as it is shown" }),
    }),
    answer: Key,
  },
} as const;

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
  /** The key's name if `key_id` is set; else the organization's, a model id or a provider's id. */
  name: Type.String(),
  model: nullable(Type.String()),
  rpm: LimitValue,
  tpm: LimitValue,
  concurrency: LimitValue,
});
export type LimitRow = Static<typeof LimitRow>;

export const Cap = Type.Object({
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
    ...reads,
    answer: Limits,
  },
  "POST /api/admission-limits": {
    summary: "Lowers or removes a limit; the gateway's route, with a session instead of a key",
    ...setting("keys"),
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
    ...setting("billing"),
    gate: "reads",
    body: Fields({
      cap_usd: Type.Optional(nullable(CapChange("month"))),
      confirm: Confirm,
    }),
    answer: Limits,
  },
  "GET /api/console/refusals/:request_id": {
    summary: "Explains why a request was rejected",
    ...reads,
    answer: Type.Object({ request_id: Id, at: Instant, ...refusalFields }),
  },
} as const;
