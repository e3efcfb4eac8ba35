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

export interface OwnerRow {
  readonly account_id: string;
  readonly org_id: OrgId;
}

/**
 * The author of a session's end if the identity provider ended the session or did not confirm it in
 * time.
 */
export const SIGN_IN_CHECKS: ChangedBy = byGateway("sign-in");

export function accountBy({ account_id: id }: OwnerRow, from: AskedFrom | undefined): ChangedBy {
  const { requestId = null, clientNetwork = null } = from ?? {};
  return { kind: "account", id, requestId, clientNetwork };
}

export function readOwner(row: Row): OwnerRow {
  return ownerColumns.read(row);
}

const ownerColumns = columns<OwnerRow>({
  account_id: text("account_id"),
  org_id: text("org_id"),
});

function changeAccount(
  action: Change["action"],
  { account_id: target, org_id: orgId }: OwnerRow,
  facts: Pick<Change, "before" | "after">,
): Change {
  return { action, orgId, target, ...facts };
}

/** The target is the account: a session's id is the hash of a cookie and stays out of the log. */
export function toSessionEnd(owner: OwnerRow): Change {
  const facts = { before: { session: "active" }, after: { session: "ended" } };
  return changeAccount("session.end", owner, facts);
}

export function startedSession(owner: OwnerRow, issuer: string): Change {
  const facts = { before: null, after: { session: "active", issuer } };
  return changeAccount("session.start", owner, facts);
}

export function revealedKey(owner: OwnerRow): Change {
  return changeAccount("key.reveal", owner, { before: { shown: false }, after: { shown: true } });
}

export function savedKey(owner: OwnerRow): Change {
  return changeAccount("key.saved", owner, { before: { saved: false }, after: { saved: true } });
}

export function welcomeCredit(orgId: OrgId, amountMicroUsd: MicroUsd, ref: string): Change {
  const after = { amount_usd: formatUsd(amountMicroUsd), ref, is_trial: true };
  return { action: "credit.grant", orgId, target: orgId, before: null, after };
}

export function createdAccount(owner: OwnerRow, claim: SignInClaim): Change {
  const { email, isVerified, issuer } = claim;
  const after = { email: maskedEmail(email), is_verified: isVerified, issuer };
  return changeAccount("account.create", owner, { before: null, after });
}

export function linkedAccount(owner: OwnerRow, issuer: string): Change {
  return changeAccount("account.link", owner, { before: null, after: { issuer } });
}

export function verifiedAccount(owner: OwnerRow): Change {
  const facts = { before: { is_verified: false }, after: { is_verified: true } };
  return changeAccount("account.verify", owner, facts);
}

export function toEmailChange(
  owner: OwnerRow,
  { before, after }: { readonly before: string; readonly after: string },
): Change {
  const facts = { before: { email: maskedEmail(before) }, after: { email: maskedEmail(after) } };
  return { ...changeAccount("account.email", owner, facts), isMaskedChange: before !== after };
}
