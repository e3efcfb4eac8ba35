import { Type, type Static } from "typebox";

import { Key } from "./keys.ts";
import { Member } from "./members.ts";
import { CreditEntry, Purchase } from "./statements.ts";
import { RequestDetail } from "./usage.ts";
import {
  CallFamily,
  Count,
  described,
  Fields,
  Id,
  Instant,
  nullable,
  oneOf,
  operatorReads,
  operatorSetting,
  Page,
  Ref,
  ShortText,
  Usd,
  UsdInput,
} from "./shared.ts";
import { TrustState } from "./listing-figures.ts";

const Reason = ShortText(
  "a text of 1 to 200 characters for the change log, which customers do not see",
);

export const OperatorInstance = Type.Object({
  number: Count,
  host: Type.String(),
  lease_until: Instant,
  is_alive: Type.Boolean(),
  open_attempts: Count,
});

export const OperatorBooks = Type.Object({
  open_attempts: Count,
  oldest_open_seconds: Count,
  partitions_ahead: Count,
  partitions_unsummed: Count,
  unclosed_periods: Count,
  owed_usd: Usd,
  /** True if committed work is missing from the database; see the command `ledger reopen`. */
  has_gone_back: Type.Boolean(),
  last_audit: nullable(Type.Object({ ended_at: Instant, violations: Count })),
});

export const OperatorHealth = Type.Object({
  version: Type.String(),
  commit: nullable(Type.String()),
  node: Type.String(),
  schema: Type.Object({ database: nullable(Count), program: Count }),
  catalog: Type.Object({ build_id: Type.String(), models: Count, listings: Count }),
  notices: Type.Array(
    Type.Object({
      kind: oneOf("below_cost", "stale_prices", "refresh_waits"),
      text: Type.String(),
    }),
  ),
  /** Settings that were changed in files or the environment, and wait for a restart. */
  waiting_for_restart: Type.Array(Type.String()),
  instances: Type.Array(OperatorInstance),
  /** Null if the ledger did not answer within a second. */
  books: nullable(OperatorBooks),
  /** The replica for reports; null if none is configured. `lag_ms` is null while it is not used. */
  replica: nullable(Type.Object({ lag_ms: nullable(Count) })),
});
export type OperatorHealth = Static<typeof OperatorHealth>;

export const OperatorOrg = Type.Object({
  org_id: Id,
  name: Type.String(),
  email: Type.String(),
  created_at: Instant,
  /** Credits minus debits minus debts; below zero, the organization owes money. */
  balance_usd: Usd,
  held_usd: Usd,
  cap_usd: nullable(Usd),
  spent_month_usd: Usd,
  /**
   * The best kind of credit that the organization ever had: a free `trial`, `granted` by an
   * operator, or `bought`.
   */
  credit: oneOf("none", "trial", "granted", "bought"),
  restrictions: Count,
});
export type OperatorOrg = Static<typeof OperatorOrg>;

export const OperatorFigures = Type.Object({
  requests: Count,
  failed_requests: Count,
  spend_usd: Usd,
  /** The part of the spend that is left after providers are paid. */
  margin_usd: Usd,
});
const Figures = OperatorFigures.properties;

export const OperatorDesk = Type.Object({
  /** Eight UTC days, newest first; days without calls are left out. */
  days: Type.Array(Type.Object({ day: Type.String(), ...Figures })),
  /** At most ten organizations, the one with the most spend in `days` first. */
  organizations: Type.Array(Type.Object({ org_id: Id, name: Type.String(), ...Figures })),
  /** At most ten providers that failed a tenth or more of at least 20 calls in 25 hours. */
  providers: Type.Array(Type.Object({ provider: Type.String(), attempts: Count, failed: Count })),
  /** How many organizations had credit and now have less than a cent. */
  out_of_credit: Count,
  /** At most ten organizations out of credit, the one with the most usage first. */
  empty: Type.Array(Type.Object({ org_id: Id, name: Type.String(), balance_usd: Usd })),
  /** The figures include calls up to this instant; null if none are counted yet. */
  until: nullable(Instant),
});
export type OperatorDesk = Static<typeof OperatorDesk>;

export const OperatorFound = Type.Object({
  kind: oneOf("organization", "person", "key", "purchase", "request"),
  id: Id,
  label: Type.String(),
  org_id: Id,
  org_name: Type.String(),
});
export type OperatorFound = Static<typeof OperatorFound>;

export const OperatorRestriction = Type.Object({
  org_id: Id,
  org_name: Type.String(),
  family: CallFamily,
  state: oneOf("limited", "restricted"),
  /** The figures that caused the restriction. The customer never sees them. */
  reason: Type.String(),
  since: Instant,
  until: nullable(Instant),
  lifted_at: nullable(Instant),
  in_effect: Type.Boolean(),
});
export type OperatorRestriction = Static<typeof OperatorRestriction>;

export const OperatorLimit = Type.Object({
  source: oneOf("self", "contract"),
  scope: oneOf("org", "key", "model"),
  key_id: nullable(Id),
  model: nullable(Type.String()),
  rpm: nullable(Count),
  tpm: nullable(Count),
  concurrency: nullable(Count),
});
export type OperatorLimit = Static<typeof OperatorLimit>;

export const OperatorChange = Type.Object({
  position: Type.Integer(),
  at: Instant,
  actor_kind: Type.String(),
  /** The account's or key's id, or the user, payment provider or component; see `actor_kind`. */
  actor_id: Type.String(),
  /** Null if the actor is no account, or an account that was merged into another one. */
  actor_email: nullable(Type.String()),
  says: Type.String(),
  org_id: nullable(Id),
  target: Type.String(),
  target_email: nullable(Type.String()),
});
export type OperatorChange = Static<typeof OperatorChange>;

const KEY_FIELDS = ["key_id", "name", "label", "created_at", "disabled_at", "is_expired"] as const;
export const OperatorKey = Type.Pick(Key, [...KEY_FIELDS]);
export const OperatorMember = Type.Pick(Member, ["email", "role", "last_seen_at"]);

export const OperatorOrgPage = Type.Object({
  org: OperatorOrg,
  /** The last 30 days by model, at most 20, most spend first. */
  usage: Type.Array(Type.Object({ model: Type.String(), ...Figures })),
  keys: Type.Array(OperatorKey),
  members: Type.Array(OperatorMember),
  /** The wallet's newest entries, at most 20; a day of use is one entry. */
  wallet: Type.Array(CreditEntry),
  purchases: Type.Array(Purchase),
  limits: Type.Array(OperatorLimit),
  restrictions: Type.Array(OperatorRestriction),
  /** Newest first, at most 20; includes facts that only operators see. */
  changes: Type.Array(OperatorChange),
});
export type OperatorOrgPage = Static<typeof OperatorOrgPage>;

export const WaitingPurchase = Type.Object({
  purchase_id: Id,
  org_id: Id,
  org_name: Type.String(),
  amount_usd: Usd,
  status: oneOf("parked", "pending"),
  refunded_usd: Usd,
  disputed_usd: Usd,
  created_at: Instant,
  is_test_money: Type.Boolean(),
  /** True if an operator granted the credit, with the purchase's id as the reference. */
  is_granted: Type.Boolean(),
});
export type WaitingPurchase = Static<typeof WaitingPurchase>;

export const OperatorListing = Type.Object({
  listing_id: Type.String(),
  provider: Type.String(),
  provider_name: Type.String(),
  model: Type.String(),
  not_routed: nullable(Type.String()),
  /** The circuit on this instance: `probing` lets one request through, `open` lets none. */
  circuit: oneOf("closed", "probing", "open"),
  pool: Type.String(),
  pool_cooldown_seconds: Count,
  pool_usable_percent: Count,
  verdict: TrustState,
  checked_at: nullable(Instant),
  /** Since when live answers have had the defects that `Suspicion` lists; null if they had none. */
  suspect_since: nullable(Instant),
});
export type OperatorListing = Static<typeof OperatorListing>;

function ContractValue(unit: string) {
  const description = `a whole number of ${unit} from 1 to 1000000000, or none for the default`;
  return Type.Optional(nullable(Type.Integer({ minimum: 1, maximum: 1_000_000_000, description })));
}

export const OperatorContract = Fields({
  scope: described(
    oneOf("org", "key", "model"),
    "org: all keys together; key: each key, or the one that is named; or model",
  ),
  key_id: Type.Optional(ShortText("the id of one key")),
  model: Type.Optional(ShortText("the id of one model")),
  rpm: ContractValue("requests per minute"),
  tpm: ContractValue("tokens per minute"),
  concurrency: ContractValue("requests in flight"),
});
export type OperatorContract = Static<typeof OperatorContract>;

/**
 * Routes for accounts that the setting `operators` names; for everyone else these paths do not
 * exist. A route that changes something requires a sign-in within the last twelve hours.
 */
export const operatorRoutes = {
  "GET /api/operator/desk": {
    summary: "Requests, failures, spend and margin of eight days, and who or what is in trouble",
    ...operatorReads,
    answer: OperatorDesk,
  },
  "GET /api/operator/look-up": {
    summary: "Whose a request, purchase, receipt, key or e-mail address is; it is recorded",
    ...operatorReads,
    changes: ["customer.look-up"],
    query: Fields({
      q: ShortText(
        "an id of a request, a purchase, a key or an organization, the number of a receipt, the " +
          "beginning of a key (12 characters), or an e-mail address",
      ),
    }),
    answer: Type.Object({ data: Type.Array(OperatorFound) }),
  },
  "GET /api/operator/organizations/:org_id/requests/:request_id": {
    summary: "One request of an organization, as its members see it; it is recorded",
    ...operatorReads,
    changes: ["customer.look-up"],
    answer: RequestDetail,
  },
  "GET /api/operator/changes": {
    summary: "The change log of the whole installation, newest first, 50 a page",
    ...operatorReads,
    query: Fields({ before: Type.Optional(Type.String({ pattern: "^[0-9]{1,15}$" })) }),
    answer: Type.Object({
      data: Type.Array(OperatorChange),
      next_before: nullable(Type.String()),
    }),
  },
  "GET /api/operator/health": {
    summary: "Instances, books, version and schema",
    ...operatorReads,
    answer: OperatorHealth,
  },
  "GET /api/operator/organizations": {
    summary: "Organizations with balance and holds, newest first",
    command: { usage: "org list", columns: "org_id name email balance_usd held_usd credit" },
    ...operatorReads,
    query: Fields({
      q: Type.Optional(
        Type.String({
          maxLength: 200,
          description: "a part of an id, a name or an e-mail address",
        }),
      ),
      cursor: Type.Optional(ShortText("the `next_cursor` of the page before")),
    }),
    answer: Type.Object({ data: Type.Array(OperatorOrg), ...Page }),
  },
  "GET /api/operator/organizations/:org_id": {
    summary: "One organization: wallet, purchases, limits, restrictions, changes",
    ...operatorReads,
    answer: OperatorOrgPage,
  },
  "POST /api/operator/organizations/:org_id/grants": {
    summary: "Grants credit, once per reference; the command is `credit grant`",
    command: { usage: "credit grant" },
    changes: ["credit.grant", "alert.rules"],
    ...operatorSetting,
    body: Fields({
      amount_usd: UsdInput,
      ref: Ref,
      is_trial: Type.Optional(
        Type.Boolean({
          description:
            "true, for free trial credit: unusual use is monitored until the organization buys some",
        }),
      ),
    }),
    answer: Type.Object({ is_new: Type.Boolean(), balance_usd: Usd }),
  },
  "POST /api/operator/organizations/:org_id/contract": {
    summary: "Sets contract limits in place of the defaults; the command is `limits contract`",
    command: { usage: "limits contract", none: ["rpm", "tpm", "concurrency"] },
    changes: ["limit.change"],
    ...operatorSetting,
    body: OperatorContract,
    answer: OperatorLimit,
  },
  "POST /api/operator/organizations/:org_id/lift": {
    summary: "Lifts restrictions after unusual use; the command is `unusual-use lift`",
    command: { usage: "unusual-use lift <org_id>" },
    changes: ["hold.lift"],
    ...operatorSetting,
    body: Fields({
      family: Type.Optional(described(CallFamily, "one of chat, images, videos, decisions")),
      reason: Reason,
    }),
    answer: Type.Object({ lifted: Type.Array(OperatorRestriction) }),
  },
  "GET /api/operator/restrictions": {
    summary: "Restrictions for unusual use, newest first, 1,000 at most",
    command: { usage: "unusual-use list [org_id]" },
    ...operatorReads,
    query: Fields({
      org_id: Type.Optional(ShortText("the id of one organization")),
      past: Type.Optional(described(oneOf("yes", "no"), "yes, to list ended ones too")),
    }),
    answer: Type.Object({ data: Type.Array(OperatorRestriction) }),
  },
  "GET /api/operator/purchases": {
    summary: "Purchases waiting for a person or a bank, parked ones first, 200 at most",
    ...operatorReads,
    answer: Type.Object({ data: Type.Array(WaitingPurchase) }),
  },
  "GET /api/operator/listings": {
    summary: "Every listing with its circuit, pool and verdict, as this instance sees them",
    access: "operator",
    answer: Type.Object({ data: Type.Array(OperatorListing) }),
  },
} as const;
