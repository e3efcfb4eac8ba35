import { Type, type Static } from "typebox";

import { Balance, CallFamily, Count, Id, Instant, Name, nullable, oneOf } from "./shared.ts";

export const Hold = Type.Object({
  family: CallFamily,
  state: oneOf("limited", "restricted"),
  /** Null: until support has reviewed it. */
  until: nullable(Instant),
});

/** What every page needs to know; read again after anything that may change it. */
export const Session = Type.Object({
  /** `unverified`: signed in, but the identity provider has not verified the e-mail. */
  state: oneOf("signed_out", "unverified", "signed_in"),
  user: nullable(Type.Object({ email: Type.String(), name: nullable(Type.String()) })),
  org: nullable(Type.Object({ org_id: Id, name: Type.String() })),
  balance: nullable(Balance),
  /** May open the operator pages. */
  is_operator: Type.Boolean(),
  /** Has the organization ever held credit? Until then it runs at 20 requests a minute. */
  is_funded: Type.Boolean(),
  unfunded_rpm: Count,
  holds: Type.Array(Hold),
  /** Is there a key to be shown once? The welcome page asks for it. */
  has_reveal: Type.Boolean(),
  /** This browser's session ends then, at the latest. */
  expires_at: nullable(Instant),
  /** Why there is none any more, for the sign-in page; null or absent: there never was one. */
  ended_reason: Type.Optional(nullable(oneOf("expired", "signed-out", "idp-ended"))),
  installation: Type.Object({
    gateway_url: Type.String(),
    console_url: Type.String(),
    /** Null: no identity provider is configured, sign-in is off. */
    sign_in_name: nullable(Type.String()),
    /** The bundled issuer signs people in: for one machine only. */
    is_local_sign_in: Type.Boolean(),
    /** Credit is bought with test money. */
    is_test_money: Type.Boolean(),
    support: nullable(Type.String()),
    privacy_url: nullable(Type.String()),
    terms_url: nullable(Type.String()),
    /** Customers' own provider keys can be stored here. */
    has_connections: Type.Boolean(),
  }),
});
export type Session = Static<typeof Session>;

/** A key that exists nowhere else in the clear: shown once, then gone. */
export const Reveal = Type.Object({
  key: Type.String(),
  label: Type.String(),
  name: Type.String(),
});
export type Reveal = Static<typeof Reveal>;

/** Has the trial key been used? The welcome page waits for its first request. */
export const FirstRequest = Type.Object({ request_id: nullable(Id) });

export const Settings = Type.Object({
  user: Type.Object({
    email: Type.String(),
    name: nullable(Type.String()),
    is_verified: Type.Boolean(),
    identities: Type.Array(Type.Object({ issuer: Type.String(), linked_at: Instant })),
  }),
  org: Type.Object({
    org_id: Id,
    name: Type.String(),
    created_at: Instant,
    keys_may_set_org_limits: Type.Boolean(),
  }),
  sessions: Type.Object({
    started_at: Instant,
    expires_at: Instant,
    user_agent: nullable(Type.String()),
    /** Other browsers that are signed in: they are not affected by signing out here. */
    others: Count,
  }),
});
export type Settings = Static<typeof Settings>;

export const SettingsChange = Type.Object(
  { name: Type.Optional(Name), keys_may_set_org_limits: Type.Optional(Type.Boolean()) },
  { additionalProperties: false },
);

export const sessionRoutes = {
  "GET /api/console/session": {
    summary: "The signed-in account, the balance and the features of this installation",
    access: "public",
    answer: Session,
  },
  "POST /api/console/reveal": {
    summary: "The trial key, once; a second read is 410 gone",
    access: "session",
    answer: Reveal,
  },
  "GET /api/console/first-request": {
    summary: "The first request of any key of the organization",
    access: "session",
    answer: FirstRequest,
  },
  "GET /api/console/settings": {
    summary: "Profile, organization, sessions",
    access: "session",
    answer: Settings,
  },
  "PATCH /api/console/settings": {
    summary: "Changes the organization; an absent field stays as it is",
    access: "session",
    isSetting: true,
    body: SettingsChange,
    answer: Settings,
  },
  "GET /api/console/export.json": {
    summary: "All stored data of the organization except its attempts, as one file",
    access: "session",
    answerType: "application/json",
  },
} as const;
