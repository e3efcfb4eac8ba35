import { type Change, maskedEmail } from "../changes/index.ts";
import type { OrgId } from "../core/index.ts";

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
