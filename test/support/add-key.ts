import { createVirtualKey } from "../../src/gateway/accounts/authenticate.ts";
import type { KeyId, OrgId } from "../../src/kernel/core/ids.ts";
import type { PostgresBackend } from "../../src/app/open-postgres-backend.ts";
import { testOperator } from "./test-operator.ts";

type NewKey = Parameters<PostgresBackend["accountStore"]["createKey"]>[0];

export interface TestKey {
  readonly orgId: OrgId;
  readonly keyId: KeyId;
  readonly key: string;
  readonly digest: Buffer;
}

/** Stores one more key for an organization, as an operator does; `more` replaces the defaults. */
export async function addKey(
  { accountStore }: Pick<PostgresBackend, "accountStore">,
  orgId: OrgId,
  more: Partial<NewKey> = {},
  { raw: key, digest, label } = createVirtualKey(),
): Promise<TestKey> {
  const wanted = { orgId, name: "another", origin: "console", digest, label } as const;
  const created = { ...wanted, requestsPerMinuteCeiling: 300, ...more };
  const { keyId } = await accountStore.createKey(created, testOperator);
  return { orgId, keyId, key, digest };
}

/** Creates an organization without credit or keys, as an operator does. */
export async function addOrg({
  accountStore,
}: Pick<PostgresBackend, "accountStore">): Promise<OrgId> {
  const wanted = { name: "Acme", email: "a@example.com" };
  return (await accountStore.createOrg(wanted, testOperator)).orgId;
}
