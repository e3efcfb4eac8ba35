import { Type, type Static } from "typebox";

import {
  Count,
  Email,
  Fields,
  Id,
  Instant,
  nullable,
  oneOf,
  reads,
  setting,
  Usd,
  UsdInput,
} from "./shared.ts";

export const AlertDestination = Type.Object({
  destination_id: Id,
  channel: oneOf("email", "webhook"),
  /** Without `billing`, a role sees only the origin of a URL, since its path can hold a token. */
  address: Type.String(),
  kinds: nullable(Type.Array(Type.String())),
  created_at: Instant,
  failing_since: nullable(Instant),
  disabled_at: nullable(Instant),
  disabled_reason: nullable(oneOf("paused", "failing", "gone", "unconfirmed", "stopped")),
  confirm_until: nullable(Instant),
  former_secret_until: nullable(Instant),
});
export type AlertDestination = Static<typeof AlertDestination>;

export const DestinationWithSecret = Type.Object({
  ...AlertDestination.properties,
  secret: nullable(Type.String({ pattern: "^whsec_[A-Za-z0-9+/=]{32,88}$" })),
});
export type DestinationWithSecret = Static<typeof DestinationWithSecret>;

/** The kinds of events that go to a destination; null means all, including future ones. */
const Kinds = nullable(
  Type.Array(Type.String({ minLength: 1, maxLength: 64 }), {
    minItems: 1,
    maxItems: 50,
    uniqueItems: true,
  }),
);

const CapPercents = Type.Array(Type.Integer({ minimum: 1, maximum: 100 }), {
  maxItems: 5,
  uniqueItems: true,
});

export const Alerts = Type.Object({
  rules: Type.Object({
    balance_below_usd: nullable(Usd),
    cap_percents: CapPercents,
    purchases: Type.Boolean(),
    restrictions: Type.Boolean(),
    key_expiry: Type.Boolean(),
    provider_trouble: Type.Boolean(),
    balance_follows: Type.Boolean(),
  }),
  can_email: Type.Boolean(),
  can_webhook: Type.Boolean(),
  kinds: Type.Array(Type.Object({ kind: Type.String(), label: Type.String() })),
  destinations: Type.Array(AlertDestination),
});
export type Alerts = Static<typeof Alerts>;

export const AlertDelivery = Type.Object({
  event_id: Id,
  kind: Type.String(),
  label: Type.String(),
  at: Instant,
  destination_id: nullable(Id),
  channel: nullable(oneOf("email", "webhook")),
  address: nullable(Type.String()),
  state: nullable(oneOf("waiting", "delivered", "failed")),
  tries: nullable(Count),
  next_try_at: nullable(Instant),
  last_answer: nullable(Type.String()),
});
export type AlertDelivery = Static<typeof AlertDelivery>;

export const alertRoutes = {
  "POST /api/console/alerts/destinations": {
    summary:
      "Adds a destination for alerts: the caller's verified email address, another one, whose reader " +
      "is asked to confirm it, or a webhook, whose secret is in this answer alone",
    ...setting("billing"),
    gate: "mails",
    body: Fields({
      channel: oneOf("email", "webhook"),
      address: Type.Optional(Email),
      url: Type.Optional(Type.String({ minLength: 1, maxLength: 4_000 })),
      kinds: Type.Optional(Kinds),
    }),
    answer: DestinationWithSecret,
  },
  "PATCH /api/console/alerts/destinations/:destination_id": {
    summary: "Disables or enables a destination, or changes which events go there",
    ...setting("billing"),
    body: Fields({ is_enabled: Type.Optional(Type.Boolean()), kinds: Type.Optional(Kinds) }),
    answer: AlertDestination,
  },
  "POST /api/console/alerts/destinations/:destination_id/rotate": {
    summary:
      "Makes a new secret for a webhook, shown in this answer alone; for 24 hours webhooks are signed " +
      "with the former one too",
    ...setting("billing"),
    answer: DestinationWithSecret,
  },
  "POST /api/console/alerts/destinations/:destination_id/remove": {
    summary: "Removes a destination; waiting alerts to it are not delivered",
    ...setting("billing"),
    answer: Alerts,
  },
  "POST /api/console/alerts/destinations/:destination_id/test": {
    summary: "Sends a test alert to one destination",
    ...setting("billing"),
    answer: Type.Object({ event_id: Id }),
  },
  "POST /api/console/alerts/destinations/:destination_id/send-again": {
    summary: "Queues a failed delivery again, with the same id",
    ...setting("billing"),
    body: Fields({ event_id: Id }),
    answer: Type.Object({ event_id: Id }),
  },
  "GET /api/console/alerts": {
    summary: "What the organization is alerted of, and where alerts go",
    needs: "read",
    answer: Alerts,
  },
  "PATCH /api/console/alerts": {
    summary: "Changes which alerts the organization gets; fields left out do not change",
    ...setting("billing"),
    body: Fields({
      balance_below_usd: Type.Optional(nullable(UsdInput)),
      cap_percents: Type.Optional(CapPercents),
      purchases: Type.Optional(Type.Boolean()),
      restrictions: Type.Optional(Type.Boolean()),
      key_expiry: Type.Optional(Type.Boolean()),
      provider_trouble: Type.Optional(Type.Boolean()),
    }),
    answer: Alerts,
  },
  "GET /api/console/alerts/deliveries": {
    summary: "The newest alerts and the results of their deliveries",
    ...reads,
    answer: Type.Object({ data: Type.Array(AlertDelivery) }),
  },
} as const;
