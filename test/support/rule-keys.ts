import type { AccountRules } from "../../src/gateway/accounts/account-rules.ts";
import type { KeyId, OrgId } from "../../src/kernel/core/ids.ts";
import { createVirtualKey } from "../../src/gateway/accounts/authenticate.ts";
import { microUsd } from "../../src/kernel/core/money.ts";
import { findKey } from "./find-key.ts";
import type { FreshBackend } from "./postgres.ts";
import { testOperator } from "./test-operator.ts";

export interface TestKey {
  readonly orgId: OrgId;
  readonly keyId: KeyId;
  readonly digest: Buffer;
}

export interface RuleKeys {
  /** A key of an organization with bought credit. */
  readonly key: TestKey;
  /** Another key of it. */
  readonly second: TestKey;
  /** A key of another such organization. */
  readonly foreign: TestKey;
}

export async function makeRuleKeys(backend: FreshBackend): Promise<RuleKeys> {
  const [key, foreign] = await Promise.all([boughtOrg(backend), boughtOrg(backend)]);
  return { key, second: await addKey(backend, key.orgId), foreign };
}

async function boughtOrg(backend: FreshBackend): Promise<TestKey> {
  const orgId = await emptyOrg(backend);
  await grant(backend, orgId, "bought");
  return await addKey(backend, orgId);
}

export async function emptyOrg(backend: FreshBackend): Promise<OrgId> {
  return (
    await backend.accountStore.createOrg({ name: "Acme", email: "a@example.com" }, testOperator)
  ).orgId;
}

export async function grant(
  backend: FreshBackend,
  orgId: OrgId,
  kind: "bought" | "trial",
): Promise<void> {
  await backend.creditStore.grant(
    {
      orgId,
      amountMicroUsd: microUsd(1_000_000n),
      ref: `${kind} ${orgId}`,
      ...(kind === "trial" ? { isTrial: true } : {}),
    },
    testOperator,
  );
}

export async function addKey(backend: FreshBackend, orgId: OrgId): Promise<TestKey> {
  const { digest, label } = createVirtualKey();
  const { keyId } = await backend.accountStore.createKey(
    {
      orgId,
      name: "one",
      origin: "console",
      digest,
      label,
      requestsPerMinuteCeiling: 300,
    },
    testOperator,
  );
  return { orgId, keyId, digest };
}

/** Reads the rules that a request with this key is served by. */
export function rulesReader(backend: FreshBackend): (key: TestKey) => Promise<AccountRules> {
  return async ({ digest }) => {
    const record = await findKey(backend.keyStore, digest);
    if (record === undefined) throw new Error("the key is found");
    return record.rules;
  };
}
