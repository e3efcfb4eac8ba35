import { createVirtualKey } from "../../gateway/index.ts";
import type { Backend } from "../../app/index.ts";
import { CreditFault } from "../../ledger/index.ts";
import {
  type ChangedBy,
  CONSOLE_KEY_REQUESTS_PER_MINUTE,
  formatUsd,
  type MicroUsd,
  type OrgId,
} from "../../kernel/index.ts";

export interface FirstAccount {
  readonly orgName: string;
  readonly email: string;
  readonly creditMicroUsd: MicroUsd;
  readonly keyName: string;
}

export type OpenedAccount = Awaited<ReturnType<typeof openAccount>>;

/** The fixed reference of the credit, so that a repeated first run grants no second credit. */
const CREDIT_REF = "first-run";

/** Creates an organization with credit and a key. A repeated run adds a key, but no credit. */
export async function openAccount(
  { accountStore, creditStore }: Backend,
  { orgName: name, email, creditMicroUsd, keyName }: FirstAccount,
  by: ChangedBy,
) {
  const orgs = await accountStore.listOrgs();
  const known = orgs.find((org) => org.name === name && org.email === email);
  const { orgId } = known ?? (await accountStore.createOrg({ name, email }, by));
  const credit = { orgId, amountMicroUsd: creditMicroUsd, ref: `${CREDIT_REF}-${orgId}` };
  const { balanceMicroUsd } = await creditStore.grant(credit, by).catch((fault: unknown) => {
    // An earlier run granted a different amount under this reference.
    if (known !== undefined && fault instanceof CreditFault && fault.kind === "ref_taken")
      return known;
    throw fault;
  });
  const made = await makeKey(accountStore, { orgId, name: keyName }, by);
  return { orgId, balanceUsd: formatUsd(balanceMicroUsd), ...made };
}

/** `key` is the raw key, which is shown once and not stored. */
export async function makeKey(
  accountStore: Backend["accountStore"],
  named: { readonly orgId: OrgId; readonly name: string },
  by: ChangedBy,
): Promise<{ readonly keyId: string; readonly key: string }> {
  const { raw, digest, label } = createVirtualKey();
  const requestsPerMinuteCeiling = CONSOLE_KEY_REQUESTS_PER_MINUTE;
  const newKey = { ...named, origin: "console", digest, label, requestsPerMinuteCeiling } as const;
  return { keyId: (await accountStore.createKey(newKey, by)).keyId, key: raw };
}
