import {
  byGateway,
  type Change,
  type ChangedBy,
  maskedEmail,
  formatUsd,
  type MicroUsd,
  type OrgId,
  columns,
  type Row,
  text,
} from "../../kernel/index.ts";
import type { AskedFrom, SignInClaim } from "./identity-store.ts";

/** An account and its organization, as rows name them. */
export interface OwnerRow {
  readonly account_id: string;
  readonly org_id: OrgId;
}

/** The author of a session's end without its person: the identity provider's word, or its silence. */
export const SIGN_IN_CHECKS: ChangedBy = byGateway("sign-in");

/** The person, at the browser that asks. */
export function accountBy({ account_id: id }: OwnerRow, from: AskedFrom | undefined): ChangedBy {
  const { requestId = null, clientNetwork = null } = from ?? {};
  return { kind: "account", id, requestId, clientNetwork };
}

/** The owner in a row that has both. */
export function readOwner(row: Row): OwnerRow {
  return ownerColumns.read(row);
}

const ownerColumns = columns<OwnerRow>({
  account_id: text("account_id"),
  org_id: text("org_id"),
});

/** A session by its account: its own id is the hash of a cookie. */
export function toSessionEnd({ account_id, org_id }: OwnerRow): Change {
  const [before, after] = [{ session: "active" }, { session: "ended" }];
  return { action: "session.end", orgId: org_id, target: account_id, before, after };
}

export function startedSession({ account_id, org_id }: OwnerRow, issuer: string): Change {
  const after = { session: "active", issuer };
  return { action: "session.start", orgId: org_id, target: account_id, before: null, after };
}

export function revealedKey({ account_id, org_id }: OwnerRow): Change {
  const [before, after] = [{ shown: false }, { shown: true }];
  return { action: "key.reveal", orgId: org_id, target: account_id, before, after };
}

export function savedKey({ account_id, org_id }: OwnerRow): Change {
  const [before, after] = [{ saved: false }, { saved: true }];
  return { action: "key.saved", orgId: org_id, target: account_id, before, after };
}

/** Starting credit, granted by the gateway itself at the first verified sign-in. */
export function welcomeCredit(orgId: OrgId, amountMicroUsd: MicroUsd, ref: string): Change {
  const after = { amount_usd: formatUsd(amountMicroUsd), ref, is_trial: true };
  return { action: "credit.grant", orgId, target: orgId, before: null, after };
}

export function createdAccount(
  { account_id, org_id }: OwnerRow,
  { email, isVerified, issuer }: SignInClaim,
): Change {
  const after = { email: maskedEmail(email), is_verified: isVerified, issuer };
  return { action: "account.create", orgId: org_id, target: account_id, before: null, after };
}

export function linkedAccount({ account_id, org_id }: OwnerRow, issuer: string): Change {
  return {
    action: "account.link",
    orgId: org_id,
    target: account_id,
    before: null,
    after: { issuer },
  };
}

export function verifiedAccount({ account_id, org_id }: OwnerRow): Change {
  const [before, after] = [{ is_verified: false }, { is_verified: true }];
  return { action: "account.verify", orgId: org_id, target: account_id, before, after };
}

export function toEmailChange(
  { account_id, org_id }: OwnerRow,
  emails: { readonly before: string; readonly after: string },
): Change {
  return {
    action: "account.email",
    orgId: org_id,
    target: account_id,
    before: { email: maskedEmail(emails.before) },
    after: { email: maskedEmail(emails.after) },
    isMaskedChange: emails.before !== emails.after,
  };
}
