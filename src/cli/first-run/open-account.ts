import { createVirtualKey } from "../../gateway/index.ts";
import type { Backend } from "../../app/index.ts";
import {
  type ChangedBy,
  CONSOLE_KEY_REQUESTS_PER_MINUTE,
  formatUsd,
  type MicroUsd,
  type OrgId,
} from "../../kernel/index.ts";

/** The person for whom the first key is made. */
export interface FirstAccount {
  readonly orgName: string;
  readonly email: string;
  readonly creditMicroUsd: MicroUsd;
  readonly keyName: string;
}

export interface OpenedAccount {
  readonly orgId: OrgId;
  readonly balanceUsd: string;
  readonly keyId: string;
  /** Shown once, by who has made it. */
  readonly key: string;
}

/** The credit of a first run is granted once an organization, however often it is run. */
const CREDIT_REF = "first-run";

/** An organization with credit and a key of its own; run again, it gets another key and no credit. */
export async function openAccount(
  { accountStore, creditStore }: Backend,
  { orgName: name, email, creditMicroUsd, keyName }: FirstAccount,
  by: ChangedBy,
): Promise<OpenedAccount> {
  const orgs = await accountStore.listOrgs();
  const known = orgs.find((org) => org.name === name && org.email === email);
  const { orgId } = known ?? (await accountStore.createOrg({ name, email }, by));
  const credit = { orgId, amountMicroUsd: creditMicroUsd, ref: `${CREDIT_REF}-${orgId}` };
  const { balanceMicroUsd } = await creditStore.grant(credit, by);
  const fresh = createVirtualKey();
  const newKey = {
    orgId,
    name: keyName,
    origin: "console",
    digest: fresh.digest,
    label: fresh.label,
    requestsPerMinuteCeiling: CONSOLE_KEY_REQUESTS_PER_MINUTE,
  } as const;
  const made = await accountStore.createKey(newKey, by);
  return { orgId, balanceUsd: formatUsd(balanceMicroUsd), keyId: made.keyId, key: fresh.raw };
}
