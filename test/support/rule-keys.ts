import type { AccountRules } from "../../src/gateway/accounts/account-rules.ts";
import type { OrgId } from "../../src/kernel/core/ids.ts";
import { addKey, type TestKey, addOrg } from "./add-key.ts";
import { findKey } from "./find-key.ts";
import { grantCredit } from "./gateway.ts";
import type { FreshBackend } from "./postgres.ts";

/** Makes two keys of an organization with bought credit, and a key of another such organization. */
export async function makeRuleKeys(backend: FreshBackend) {
  const [key, foreign] = await Promise.all([boughtOrg(backend), boughtOrg(backend)]);
  return { key, second: await addKey(backend, key.orgId), foreign };
}

async function boughtOrg(backend: FreshBackend): Promise<TestKey> {
  const orgId = await addOrg(backend);
  await grant(backend, orgId, "bought");
  return await addKey(backend, orgId);
}

export async function grant(backend: FreshBackend, orgId: OrgId, kind: "bought" | "trial") {
  await grantCredit(backend, orgId, "1", kind === "trial" ? { isTrial: true } : {});
}

export function rulesReader(backend: FreshBackend): (key: TestKey) => Promise<AccountRules> {
  return async ({ digest }) => {
    const record = await findKey(backend.keyStore, digest);
    if (record === undefined) throw new Error("the key is found");
    return record.rules;
  };
}
