import { createVirtualKey } from "../../src/gateway/accounts/authenticate.ts";
import type { OrgId } from "../../src/kernel/core/ids.ts";
import type { MicroUsd } from "../../src/kernel/core/money.ts";
import type { PostgresBackend } from "../../src/app/open-postgres-backend.ts";
import { testOperator } from "./test-operator.ts";

/** One more key of an organization; returns it raw. */
export async function addKey(
  backend: Pick<PostgresBackend, "accountStore">,
  orgId: OrgId,
  capMicroUsd: MicroUsd | null = null,
): Promise<string> {
  const fresh = createVirtualKey();
  await backend.accountStore.createKey(
    {
      orgId,
      name: "another",
      origin: "console",
      digest: fresh.digest,
      label: fresh.label,
      requestsPerMinuteCeiling: 300,
      caps: { month: capMicroUsd },
    },
    testOperator,
  );
  return fresh.raw;
}
