import {
  columns,
  computed,
  instantMs,
  orNull,
  type Role,
  rolesWith,
  text,
  type RecordOf,
} from "../../kernel/index.ts";
import { MANAGED_SQL } from "../../gateway/index.ts";
import { countMailSql } from "../alerts/destination-sql.ts";

/** Limits members and open invitations of one organization, counted together. */
export const TEAM_MAX = 50;

export interface KnownPerson {
  /** The present address; masked as in the change log if a former member has changed it since. */
  readonly email: string;
  readonly isMember: boolean;
}

export interface NewInvitation {
  readonly invitationId: string;
  readonly email: string;
  readonly role: Role;
  readonly invitedBy: string;
  readonly tokenHash: Buffer;
  readonly nowMs: number;
  readonly expiresAtMs: number;
}

/** `last_owner`: an organization must keep one; `not_allowed`: the caller has lost the role. */
export type MemberChange = "done" | "unknown" | "last_owner" | "not_allowed";

export const ROWS_MAX = 100;

/** SQL with these columns must use the aliases `org_member m` and `console_account a`. */
export const memberColumns = columns({
  accountId: text("account_id"),
  email: computed("a.email", text("email")),
  name: computed("a.name", orNull(text("name"))),
  role: text<Role>("role"),
  joinedAtMs: instantMs("joined_at"),
  /** Null if no session in this organization is stored; expired ones are deleted after 30 days. */
  lastSeenAtMs: computed(
    `(select max(s.last_seen_at) from console_session s where s.account_id = a.account_id
      and coalesce(s.org_id, a.org_id) = m.org_id)`,
    orNull(instantMs("last_seen_at")),
  ),
});
export type Member = RecordOf<typeof memberColumns>;

export const invitationColumns = columns({
  invitationId: text("invitation_id"),
  email: text("email"),
  role: text<Role>("role"),
  createdAtMs: instantMs("created_at"),
  expiresAtMs: instantMs("expires_at"),
  mailedAtMs: orNull(instantMs("mailed_at")),
});
/** An invitation that was neither accepted nor revoked; it may have expired. */
export type Invitation = RecordOf<typeof invitationColumns>;

/** SQL with these columns must use the aliases `org_invitation i` and `org o`. */
export const receivedColumns = columns({
  invitationId: text("invitation_id"),
  orgName: computed("o.name", text("org_name")),
  email: text("email"),
  role: text<Role>("role"),
  /** The address of the member who made the link; null if that account is gone. */
  invitedBy: computed(
    "(select b.email from console_account b where b.account_id = i.invited_by)",
    orNull(text("invited_by")),
  ),
  expiresAtMs: instantMs("expires_at"),
});
export type ReceivedInvitation = RecordOf<typeof receivedColumns>;

export const MEMBERS_SQL = `
  select ${memberColumns.sqlOf("m")}
  from org_member m join console_account a using (account_id)
  where m.org_id = $1 order by m.joined_at, m.account_id limit ${ROWS_MAX}`;

/* A removed member may have a new e-mail address, which the organization must not see. */
export const PEOPLE_SQL = `
  select a.account_id, a.email, m.account_id is not null as is_member,
    case when m.account_id is null then (
      select coalesce(c.before ->> 'email', c.after ->> 'email') from change c
      where c.org_id = $1 and c.target = a.account_id
        and c.action in ('member.remove', 'member.leave', 'member.join')
      order by c.position desc limit 1) end as masked
  from console_account a left join org_member m on m.org_id = $1 and m.account_id = a.account_id
  where a.account_id = any ($2)`;

export interface PersonRow {
  readonly account_id: string;
  readonly email: string;
  readonly is_member: boolean;
  readonly masked: string | null;
}

/*
 * Includes keys that the account rotated, since it knows their secrets, and webhooks it changed;
 * also those of which the log does not say any more who made them. One row more than is shown.
 */
export const MADE_BY_SQL = `
  with logged as (
    select target, bool_or(actor_kind = 'account' and actor_id = $2) as is_own,
      bool_or(action <> 'alert.destination' or before is null) as is_maker_known
    from change
    where org_id = $1
      and action in ('key.create', 'key.rotate', 'alert.destination', 'alert.secret')
    group by target
  ), made as (
    select 'key' as kind, key_id as id, name from api_key
    where org_id = $1 and disabled_at is null and not ${MANAGED_SQL}
    union all
    select 'webhook', destination_id, address from alert_destination
    where org_id = $1 and channel = 'webhook' and disabled_at is null
  ), ranked as (
    select kind, id, name, coalesce(is_own or is_maker_known, false) as is_maker_known,
      row_number() over (partition by kind order by is_own desc nulls last, name, id) as rank
    from made left join logged on target = id
    where is_own or is_maker_known is not true
  )
  select kind, id, name, is_maker_known from ranked where rank <= ${ROWS_MAX} + 1
  order by kind, rank`;

export interface MadeRow {
  readonly kind: "key" | "webhook";
  readonly id: string;
  readonly name: string;
  /** False if the change log has no entry any more that says who made it. */
  readonly is_maker_known: boolean;
}

export const EMAILS_SQL = `
  select account_id, email from console_account where account_id = any ($1)`;

export const INVITATIONS_SQL = `
  select ${invitationColumns.sql} from org_invitation
  where org_id = $1 and ended_at is null order by created_at, invitation_id limit ${ROWS_MAX}`;

/* True while the account that made the last link of invitation `i` is a member who may invite. */
const INVITER_SQL = `exists (select from org_member b where b.org_id = i.org_id
    and b.account_id = i.invited_by
    and b.role in (${rolesWith("members")
      .map((role) => `'${role}'`)
      .join(", ")}))`;

export const BY_LINK_SQL = `
  select ${receivedColumns.sqlOf("i")} from org_invitation i join org o using (org_id)
  where i.token_hash = $1 and i.ended_at is null and i.expires_at > $2 and ${INVITER_SQL}`;

export const RECEIVED_SQL = `
  select ${receivedColumns.sqlOf("i")} from console_account a
  join org_invitation i using (email_norm) join org o on o.org_id = i.org_id
  where a.account_id = $1 and a.email_verified_at is not null
    and i.ended_at is null and i.expires_at > $2 and ${INVITER_SQL}
  order by i.created_at, i.invitation_id limit ${ROWS_MAX}`;

/* Lock this row before reading members, so that changes of one team run one after another. */
export const LOCK_ORG_SQL = "select from org where org_id = $1 for no key update";

export const ONE_MEMBER_SQL = `
  select m.role, a.email, a.name, a.org_id = m.org_id as is_own,
    (select count(*)::integer from org_member w where w.org_id = $1 and w.role = 'owner') as owners
  from org_member m join console_account a using (account_id)
  where m.org_id = $1 and m.account_id = $2`;

export interface OneMemberRow {
  readonly role: Member["role"];
  readonly email: string;
  readonly name: string | null;
  readonly is_own: boolean;
  readonly owners: number;
}

export const COUNT_TEAM_SQL = `
  select (select count(*) from org_member where org_id = $1)::integer
    + (select count(*) from org_invitation
      where org_id = $1 and ended_at is null and expires_at > now())::integer as size`;

/* Limits e-mails per mailbox, per organization and, as a person can own many, per hour overall. */
export const CLAIM_MAIL_SQL = `
  with allowed as (
    select i.invitation_id from org_invitation i
    where i.invitation_id = $1 and i.ended_at is null
      and (select coalesce(sum(o.mails), 0) from org_invitation o where o.org_id = i.org_id
        and o.mailed_at > now() - interval '24 hours') < $2
      and (select coalesce(sum(o.mails), 0) from org_invitation o where o.email_norm = i.email_norm
        and o.mailed_at > now() - interval '24 hours') < $3
  ), counted as (
    ${countMailSql("$4")} and exists (select from allowed)
    returning hour
  )
  update org_invitation i set
    mails = 1 + case when i.mailed_at > now() - interval '24 hours' then i.mails
      else 0 end,
    mailed_at = now()
  from allowed, counted where i.invitation_id = allowed.invitation_id and i.ended_at is null`;

export const ACCEPT_SQL = `
  update org_invitation i set ended_at = $3, ended_reason = 'accepted'
  from console_account a
  where i.invitation_id = $1 and i.ended_at is null and i.expires_at > $3
    and a.account_id = $2 and a.email_verified_at is not null and a.email_norm = i.email_norm
    and ${INVITER_SQL}
  returning i.role, i.email`;

export const END_EXPIRED_SQL = `
  update org_invitation set ended_at = $3, ended_reason = 'revoked'
  where org_id = $1 and email_norm = $2 and ended_at is null and expires_at <= $3`;

export const DROP_REVEALS_SQL = `
  delete from console_reveal r using console_session s
  where s.session_id = r.session_id and s.account_id = $1`;

export const RENEW_SQL = `
  update org_invitation set token_hash = $3, expires_at = $4, invited_by = $5
  where org_id = $1 and invitation_id = $2 and ended_at is null
  returning ${invitationColumns.sql}`;

export const IS_EXPIRED_SQL = `
  select from org_invitation
  where org_id = $1 and invitation_id = $2 and ended_at is null and expires_at <= $3`;

export const END_INVITATIONS_SQL = `
  update org_invitation set ended_at = now(), ended_reason = 'revoked'
  where org_id = $1 and ended_at is null
    and (invitation_id = $2 or invited_by = $3 or email_norm = $4)
  returning ${invitationColumns.sql}`;

export const INVITE_SQL = `
  insert into org_invitation (invitation_id, org_id, email, email_norm, role, token_hash,
    invited_by, created_at, expires_at)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
  on conflict (org_id, email_norm) where ended_at is null do nothing
  returning ${invitationColumns.sql}`;

export const SET_ROLE_SQL = "update org_member set role = $3 where org_id = $1 and account_id = $2";

export const REMOVE_SQL = "delete from org_member where org_id = $1 and account_id = $2";

export const SWITCH_SQL =
  "update console_session set org_id = $2 where session_id = $1 and account_id = $3";

export const ORG_OF_SQL = "select org_id from org_invitation where invitation_id = $1";

export const JOIN_SQL = `
  insert into org_member (org_id, account_id, role) values ($1, $2, $3) on conflict do nothing`;

export const SET_OWN_ORG_SQL = "update console_account set org_id = $2 where account_id = $1";
