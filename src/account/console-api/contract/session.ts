import { Type, type Static } from "typebox";

import { NEEDS } from "../../../kernel/core/roles.ts";
import { ReceivedInvitation } from "./members.ts";
import {
  Balance,
  CallFamily,
  Count,
  Fields,
  Id,
  Instant,
  Name,
  nullable,
  oneOf,
  reads,
  RoleName,
  setting,
} from "./shared.ts";
import { RequestStatus } from "./usage.ts";

export const Hold = Type.Object({
  family: CallFamily,
  state: oneOf("limited", "restricted"),
  until: nullable(Instant),
});

export const Notice = Type.Object({
  kind: oneOf(
    "out_of_credit",
    "credit_short",
    "low_balance",
    "org_cap_reached",
    "org_cap_near",
    "key_cap_reached",
    "key_cap_near",
    "unusual_use",
    "provider_trouble",
    "never_funded",
    "top_up_paused",
  ),
  severity: oneOf("bad", "warn", "info"),
  text: Type.String(),
  since: nullable(Instant),
  /** Requests refused in the last hour for lack of credit or by the spend cap, at most 1,000. */
  refused: Count,
  action: oneOf("add_credit", "raise_cap", "contact_support", "view_model", "open_billing"),
  target: nullable(Id),
});
export type Notice = Static<typeof Notice>;

export const Session = Type.Object({
  /** `unverified`: signed in, but the identity provider has not verified the e-mail. */
  state: oneOf("signed_out", "unverified", "signed_in"),
  user: nullable(Type.Object({ email: Type.String(), name: nullable(Type.String()) })),
  org: nullable(Type.Object({ org_id: Id, name: Type.String(), role: RoleName })),
  may: Type.Array(oneOf(...NEEDS)),
  others: Type.Array(Type.Object({ org_id: Id, name: Type.String() })),
  own_deferred: Type.Boolean(),
  is_undecided: Type.Boolean(),
  invitations: Type.Array(ReceivedInvitation),
  balance: nullable(Balance),
  is_operator: Type.Boolean(),
  is_funded: Type.Boolean(),
  unfunded_rpm: Count,
  holds: Type.Array(Hold),
  notices: Type.Array(Notice),
  has_reveal: Type.Boolean(),
  expires_at: nullable(Instant),
  ended_reason: Type.Optional(nullable(oneOf("expired", "signed-out", "idp-ended"))),
  installation: Type.Object({
    gateway_url: Type.String(),
    console_url: Type.String(),
    sign_in_name: nullable(Type.String()),
    is_local_sign_in: Type.Boolean(),
    is_test_money: Type.Boolean(),
    support: nullable(Type.String()),
    privacy_url: nullable(Type.String()),
    terms_url: nullable(Type.String()),
    has_connections: Type.Boolean(),
  }),
});
export type Session = Static<typeof Session>;

/** The raw trial key, stored encrypted for 15 minutes or until its owner confirms it is saved. */
export const Reveal = Type.Object({
  key: Type.String(),
  label: Type.String(),
  name: Type.String(),
});

export const FirstRequest = Type.Object({
  request_id: nullable(Id),
  /** The newest unsuccessful request of the last hour; null once a request has succeeded. */
  refused: nullable(
    Type.Object({
      request_id: Id,
      status: RequestStatus,
      error_class: nullable(Type.String()),
      at: Instant,
    }),
  ),
});
export type FirstRequest = Static<typeof FirstRequest>;

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
    others: Count,
  }),
});
export type Settings = Static<typeof Settings>;

export const BrowserSession = Type.Object({
  session_id: Id,
  is_this: Type.Boolean(),
  started_at: Instant,
  last_seen_at: Instant,
  user_agent: nullable(Type.String()),
});
export type BrowserSession = Static<typeof BrowserSession>;

const BrowserSessions = Type.Object({ sessions: Type.Array(BrowserSession) });

export const sessionRoutes = {
  "GET /api/console/session": {
    summary: "The signed-in account, the balance and the features of this installation",
    access: "public",
    answer: Session,
  },
  "POST /api/console/reveal": {
    summary: "The trial key, to the session that made it, until it is saved; then 410 gone",
    needs: "account",
    answer: Reveal,
  },
  "POST /api/console/reveal/saved": {
    summary: "The trial key is saved: it is not shown again",
    needs: "account",
    answer: Type.Object({ has_reveal: Type.Boolean() }),
  },
  "GET /api/console/first-request": {
    summary: "The first request of the organization that succeeded, or why the newest did not",
    ...reads,
    answer: FirstRequest,
  },
  "GET /api/console/settings": {
    summary: "Profile, organization, sessions",
    needs: "read",
    answer: Settings,
  },
  "PATCH /api/console/settings": {
    summary: "Changes the organization; fields left out do not change",
    ...setting("organization"),
    body: Fields({
      name: Type.Optional(Name),
      keys_may_set_org_limits: Type.Optional(Type.Boolean()),
    }),
    answer: Settings,
  },
  "GET /api/console/sessions": {
    summary: "The browsers in which the account is signed in",
    needs: "account",
    answer: BrowserSessions,
  },
  "POST /api/console/sessions/:session_id/end": {
    summary: "Signs the account out in another browser",
    ...setting("account"),
    answer: BrowserSessions,
  },
  "GET /api/console/export.json": {
    summary:
      "The organization's own data as one file; requests, statements and changes have their own files",
    needs: "read",
    answerType: "application/json",
  },
} as const;
