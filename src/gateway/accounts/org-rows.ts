import {
  type Change,
  maskedEmail,
  type OrgId,
  bool,
  type ColumnsOf,
  computed,
  instantMs,
  micro,
  orNull,
  text,
} from "../../kernel/index.ts";
import type { OrgSummary } from "./account-store.ts";

/** Of an organization `o` and its wallet `w`. */
export const orgSummary: ColumnsOf<OrgSummary> = {
  orgId: text("org_id"),
  name: text("name"),
  email: text("email"),
  balanceMicroUsd: computed("w.credits - w.debits - w.owed", micro("balance")),
  heldMicroUsd: computed("w.reserved", micro("held")),
  createdAtMs: instantMs("created_at"),
  capMicroUsd: orNull(micro("cap_micro_usd")),
  isFunded: computed("o.funded_at is not null", bool("is_funded")),
  keysMaySetOrgLimits: bool("keys_may_set_org_limits"),
};

export const ORG_AND_WALLET_SQL =
  "from org o join account w on w.account_id = 'wallet:' || o.org_id";

/** A new organization with its empty wallet: id, name, e-mail, whether the e-mail is verified. */
export const CREATE_ORG_SQL = `
  with made as (
    insert into org (org_id, name, email, email_verified) values ($1, $2, $3, $4) returning org_id
  )
  insert into account (account_id, org_id, must_cover)
  select 'wallet:' || org_id, org_id, true from made`;

export function createdOrg(orgId: OrgId, name: string, email: string): Change {
  const after = { name, email: maskedEmail(email) };
  return { action: "org.create", orgId, target: orgId, before: null, after };
}
