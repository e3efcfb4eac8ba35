import { Type, type Static } from "typebox";

import { Count, Id, Instant, nullable, oneOf, Usd, UsdInput } from "./shared.ts";

export const AlertDestination = Type.Object({
  destination_id: Id,
  channel: oneOf("email"),
  address: Type.String(),
  created_at: Instant,
  /** Since when every delivery has failed; null: the last one arrived, or there was none. */
  failing_since: nullable(Instant),
  /** Set: disabled after days of failures. */
  disabled_at: nullable(Instant),
});
export type AlertDestination = Static<typeof AlertDestination>;

const CapPercents = Type.Array(Type.Integer({ minimum: 1, maximum: 100 }), {
  maxItems: 5,
  uniqueItems: true,
});

export const Alerts = Type.Object({
  rules: Type.Object({
    /** An alert when the balance falls below it; null: none. */
    balance_below_usd: nullable(Usd),
    /** An alert when so many percent of a monthly cap are used. */
    cap_percents: CapPercents,
    purchases: Type.Boolean(),
    restrictions: Type.Boolean(),
  }),
  /** False: the operator has configured no mail server. */
  can_email: Type.Boolean(),
  destinations: Type.Array(AlertDestination),
});
export type Alerts = Static<typeof Alerts>;

export const AlertDelivery = Type.Object({
  event_id: Id,
  kind: Type.String(),
  at: Instant,
  /** Null with the fields below: there was no destination. */
  channel: nullable(oneOf("email")),
  address: nullable(Type.String()),
  state: nullable(oneOf("waiting", "delivered", "failed")),
  tries: nullable(Count),
  next_try_at: nullable(Instant),
  /** What the last try was answered. */
  last_answer: nullable(Type.String()),
});
export type AlertDelivery = Static<typeof AlertDelivery>;

const params = Type.Object({ destination_id: Id });

export const alertRoutes = {
  "GET /api/console/alerts": {
    summary: "What the organization is alerted of, and where alerts go",
    access: "session",
    answer: Alerts,
  },
  "PATCH /api/console/alerts": {
    summary: "Changes which alerts the organization gets; fields left out do not change",
    access: "session",
    isSetting: true,
    body: Type.Object(
      {
        balance_below_usd: Type.Optional(nullable(UsdInput)),
        cap_percents: Type.Optional(CapPercents),
        purchases: Type.Optional(Type.Boolean()),
        restrictions: Type.Optional(Type.Boolean()),
      },
      { additionalProperties: false },
    ),
    answer: Alerts,
  },
  "POST /api/console/alerts/destinations": {
    summary: "Adds the caller's verified email address as a destination for alerts",
    access: "session",
    isSetting: true,
    body: Type.Object({ channel: oneOf("email") }, { additionalProperties: false }),
    answer: AlertDestination,
  },
  "POST /api/console/alerts/destinations/:destination_id/remove": {
    summary: "Removes a destination; waiting alerts to it are not delivered",
    access: "session",
    isSetting: true,
    params,
    answer: Alerts,
  },
  "POST /api/console/alerts/destinations/:destination_id/test": {
    summary: "Sends a test alert to one destination",
    access: "session",
    isSetting: true,
    params,
    answer: Type.Object({ event_id: Id }),
  },
  "GET /api/console/alerts/deliveries": {
    summary: "The newest alerts and the results of their deliveries",
    access: "session",
    answer: Type.Object({ data: Type.Array(AlertDelivery) }),
  },
} as const;
