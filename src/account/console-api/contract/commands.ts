import { Type } from "typebox";

import type { EndpointRecord, RoutingPolicy } from "../../../gateway/index.ts";
import { type DefineField, formatUsd, instant, shape } from "../../../kernel/index.ts";
import type { LedgerEntry, LostLine } from "../../../ledger/index.ts";
import type { ListedTopUp } from "../../billing/top-up-store.ts";
import { Team } from "./members.ts";
import { settlementRoutes } from "./operator-settlement.ts";
import {
  type CommandContract,
  Count,
  described,
  Id,
  Instant,
  List,
  MaybeInstant,
  MaybeInteger,
  MaybeText,
  Name,
  nullable,
  oneOf,
  RoleName,
  ShortText,
  Usd,
} from "./shared.ts";

export const endpointShape = shape((is: DefineField<EndpointRecord>) => ({
  endpoint_id: is(Id, (each) => each.endpointId),
  org_id: is(Id, (each) => each.orgId),
  provider_id: is(Id, (each) => each.providerId),
  rps: is(MaybeInteger, ({ limits }) => limits.requestsPerSecond ?? null),
  paced_per_second: is(nullable(Type.Number()), ({ limits }) => limits.paced?.perSecond ?? null),
  queue_ms: is(MaybeInteger, ({ limits }) => limits.paced?.waitMsMax ?? null),
  rpm: is(MaybeInteger, ({ limits }) => limits.requestsPerMinute ?? null),
  tpm: is(MaybeInteger, ({ limits }) => limits.tokensPerMinute ?? null),
  concurrency: is(MaybeInteger, ({ limits }) => limits.concurrent ?? null),
  created_at: is(Instant, (each) => instant(each.createdAtMs)),
}));

export const topUpShape = shape((is: DefineField<ListedTopUp>) => ({
  org_id: is(Id, (each) => each.orgId),
  name: is(Type.String(), (each) => each.orgName),
  state: is(oneOf("paused", "active", "off"), ({ pause, isOn }) =>
    pause !== undefined ? "paused" : isOn ? "active" : "off",
  ),
  paused_reason: is(MaybeText, ({ pause }) => pause?.reason ?? null),
  paused_at: is(MaybeInstant, ({ pause }) => (pause === undefined ? null : instant(pause.sinceMs))),
  below_usd: is(Usd, (each) => formatUsd(each.belowMicroUsd)),
  amount_usd: is(Usd, (each) => formatUsd(each.amountMicroUsd)),
  month_max_usd: is(Usd, (each) => formatUsd(each.monthMaxMicroUsd)),
  month_spent_usd: is(Usd, (each) => formatUsd(each.monthMicroUsd)),
}));

export const policyShape = shape((is: DefineField<RoutingPolicy>) => ({
  timeout_ms: is(MaybeInteger, ({ timeoutMs }) => timeoutMs ?? null),
  only: is(nullable(List(Id)), ({ only }) => only ?? null),
  ignore: is(nullable(List(Id)), ({ ignore }) => ignore ?? null),
  prompt_logging: is(nullable(oneOf("none")), ({ promptLogging }) => promptLogging ?? null),
}));

export const entryShape = shape((is: DefineField<LedgerEntry>) => ({
  at: is(Instant, ({ atMs }) => instant(atMs)),
  kind: is(Type.String(), ({ kind }) => kind),
  ref: is(Type.String(), ({ ref }) => ref),
  detail: is(MaybeText, ({ detail }) => detail),
  amount_usd: is(Usd, ({ amountMicroUsd }) => formatUsd(amountMicroUsd)),
}));

export const strangeShape = shape((is: DefineField<LostLine>) => ({
  of: is(oneOf("attempt", "request"), ({ of }) => of),
  id: is(Type.String(), ({ id }) => id),
  verdict: is(Type.String(), ({ verdict }) => verdict),
}));

const Facts = nullable(Type.Record(Type.String(), Type.Unknown()));

export const Change = Type.Object({
  position: Type.Integer(),
  at: Instant,
  actor_kind: Type.String(),
  actor_id: Type.String(),
  /** The present e-mail address of the actor's account; the log does not store it. */
  actor_email: MaybeText,
  org_id: nullable(Id),
  action: Type.String(),
  target: Type.String(),
  target_email: MaybeText,
  before: Facts,
  after: Facts,
  request_id: MaybeText,
  client_network: MaybeText,
});

const RECONCILE = "POST /api/operator/settlement/:provider_id/:period_start/reconcile";

const org = Type.Object({ org_id: Id });
const maybeOrg = { org_id: Type.Optional(Id) };

const changeFilter = {
  ...maybeOrg,
  since: Type.Optional(
    Type.String({
      format: "date-time",
      description: "a day or an instant in UTC from which on they were made",
    }),
  ),
  action: Type.Optional(
    ShortText("the beginning of the actions that are meant, such as key. or settlement.pay"),
  ),
};

function Path(description: string) {
  return Type.String({ minLength: 1, maxLength: 4_000, description });
}

const Email = ShortText("an e-mail address");
const ProviderId = Type.String({
  pattern: "^[a-z0-9][a-z0-9-]{1,62}$",
  description: "the id of a provider like acme-ai",
});

function ProviderIds(what: string) {
  const description = `ids of providers like acme-ai: ${what}, unless a request overrides it`;
  return Type.Optional(Type.Array(ProviderId, { minItems: 1, description }));
}

function Limit(of: string, minimum = 1) {
  const description = `a whole number of ${of}`;
  return Type.Optional(Type.Integer({ minimum, maximum: 1_000_000_000, description }));
}

export const PutBackPeriod = Type.Object({
  provider_id: Id,
  start: Instant,
  lost_attempts: Count,
  lost_usd: Type.String(),
});

export const PutBack = Type.Object({
  put_back: List(PutBackPeriod),
  known: Count,
  lost_usd: Type.String(),
});

/** Operations that only operators' commands offer: no page and no route has them. */
export const COMMANDS = {
  "org create <name>": {
    summary: "Creates an organization with an empty wallet",
    changes: ["org.create"],
    body: Type.Object({
      name: Type.String({ ...Name, maxLength: 200, description: "a name of 1 to 200 characters" }),
      email: Email,
    }),
    answer: Type.Object({ org_id: Id, name: Type.String(), email: Type.String() }),
  },
  "org policy <org_id>": {
    summary:
      "Sets the routing policy of an organization in place of the old one; without a flag, shows it",
    changes: ["org.policy"],
    params: org,
    body: Type.Object({
      timeout_ms: Limit("milliseconds for routing; it can only shorten the installation's"),
      only: ProviderIds("no others are used"),
      ignore: ProviderIds("these are never used"),
      prompt_logging: Type.Optional(
        described(oneOf("none"), "none: never use a provider that retains prompts"),
      ),
      clear: Type.Optional(Type.Boolean({ description: "true, to remove the policy" })),
    }),
    answer: Type.Object({ org_id: Id, policy: nullable(policyShape.schema) }),
  },
  "org keys-may-set-limits <org_id> <state>": {
    summary: "Allows or forbids virtual keys to lower the limits of their whole organization",
    changes: ["org.keys-may-set-limits"],
    params: org,
    body: Type.Object({ state: described(oneOf("on", "off"), "one of on, off") }),
    answer: Type.Object({ org_id: Id, keys_may_set_org_limits: Type.Boolean() }),
  },
  "member add": {
    summary:
      "Adds a person who has signed in before with this verified e-mail address: the way in where " +
      "every owner is gone",
    changes: ["member.join"],
    params: org,
    body: Type.Object({ email: Email, role: RoleName }),
    answer: Team,
  },
  "credit ledger": {
    summary: "Shows balance, holds and the newest entries of an organization's wallet",
    params: org,
    answer: Type.Object({
      org_id: Id,
      balance_usd: Usd,
      held_usd: Usd,
      entries: List(entryShape.schema),
    }),
  },
  "topup list": {
    summary: "Lists the rules of automatic top-up, paused ones first",
    answer: Type.Object({ data: List(topUpShape.schema) }),
  },
  "topup pause": {
    summary: "Pauses an organization's automatic top-up until its owner turns it on again",
    changes: ["topup.pause"],
    params: org,
    answer: Type.Object({ org_id: Id, paused: Type.Boolean() }),
  },
  "endpoint add": {
    summary: "Assigns a private manifest to an organization; its models are then served there only",
    changes: ["endpoint.add"],
    command: { readsCatalog: true },
    params: org,
    body: Type.Object({
      provider_id: ShortText("the provider id of the private manifest"),
      rps: Limit("requests per second; those above it are refused"),
      paced_per_second: Type.Optional(
        Type.String({
          pattern: "^(?=.*[1-9])[0-9]{1,9}(\\.[0-9]{1,3})?$",
          description:
            "a number above 0, with at most three decimals, of requests sent per second; further " +
            "ones wait, see queue_ms",
        }),
      ),
      queue_ms: Limit("milliseconds that the pace may make a request wait at most", 0),
      rpm: Limit("requests per minute"),
      tpm: Limit("tokens per minute"),
      concurrency: Limit("requests in flight"),
    }),
    answer: Type.Object({
      ...endpointShape.schema.properties,
      /** False if this machine has no folder of manifests, as when the server runs elsewhere. */
      manifest_checked: Type.Boolean(),
    }),
  },
  "endpoint list [org_id]": {
    summary: "Lists dedicated endpoints with their limits",
    query: Type.Object(maybeOrg),
    answer: Type.Object({ endpoints: List(endpointShape.schema) }),
  },
  "endpoint remove <endpoint_id>": {
    summary: "Removes an endpoint, for new requests within five seconds",
    changes: ["endpoint.remove"],
    params: Type.Object({ endpoint_id: Id }),
    answer: Type.Object({ endpoint_id: Id, removed: Type.Boolean() }),
  },
  "connection reseal": {
    summary:
      "Encrypts every stored provider key and webhook secret with the first encryption_key, while " +
      "calls go on; exit 1 when one cannot be decrypted: add the key that it was stored with, or " +
      "disable it (rotate the secret of a webhook)",
    changes: ["connection.reseal"],
    command: { verdict: "ok" },
    answer: Type.Object({
      ok: Type.Boolean(),
      resealed: Count,
      /** The number of secrets that were already encrypted with the first encryption key. */
      kept: Count,
      not_decrypted: List(Type.String()),
    }),
  },
  "settlement export": {
    summary: "Writes each closed period to a signed file, to put back after a restore",
    body: Type.Object({ out: Path("the folder; files that are there already stay") }),
    answer: Type.Object({ files_written: Count }),
  },
  "settlement put-back": {
    summary:
      "After a restore, closes again from their signed files the periods that were closed in the lost time",
    changes: ["settlement.put-back"],
    body: Type.Object({
      from: Path("the folder of settlement export --out"),
      public_key: Type.Optional(
        Path("PEM file of the key that is trusted (default this one's own)"),
      ),
    }),
    answer: PutBack,
  },
  "settlement attempts <provider_id> <period_start>": {
    summary: "Prints every attempt of a closed period as CSV",
    params: Type.Object({ provider_id: Id, period_start: Instant }),
    answerType: "text/csv",
  },
  "settlement bear-lost <provider_id>": {
    summary: "After a restore, owes what the books lost and the provider's own statement has",
    changes: ["settlement.bear-lost"],
    command: { fromFile: "statement", verdict: "strange" },
    params: Type.Object({ provider_id: Id }),
    body: settlementRoutes[RECONCILE].body,
    answer: Type.Object({
      provider_id: Id,
      lines: Count,
      verdicts: List(
        Type.Object({
          verdict: Type.String(),
          lines: Count,
          cost_usd: Type.String(),
          meaning: Type.String(),
        }),
      ),
      strange: List(strangeShape.schema),
    }),
  },
  "changes list [org_id]": {
    summary: "Lists changes, newest first",
    command: {
      columns: "at actor_kind actor_id actor_email action target target_email before after",
    },
    query: Type.Object({
      ...changeFilter,
      limit: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: 10_000,
          description: "a whole number from 1 to 10000; default 100",
        }),
      ),
    }),
    answer: Type.Object({ changes: List(Change) }),
  },
  "changes export [org_id]": {
    summary:
      "Prints changes as NDJSON, oldest first, each with the hash of the one before; the last line " +
      "is signed",
    query: Type.Object(changeFilter),
    answerType: "application/x-ndjson",
  },
  "changes retire": {
    summary: "Deletes changes that are old enough; export them first",
    changes: ["changes.retire"],
    body: Type.Object({
      older_than_days: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: 100_000,
          description: "a whole number of days from 1 to 100000; default retention.changes_days",
        }),
      ),
    }),
    /** `older_than_days` is null if `retention.changes_days` is 0, which keeps everything. */
    answer: Type.Object({ retired: Count, older_than_days: nullable(Count) }),
  },
} as const satisfies Readonly<Record<string, CommandContract>>;

export type Commands = typeof COMMANDS;
export type CommandName = keyof Commands;
