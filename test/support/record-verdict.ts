import type { ListingVerdict } from "../../src/gateway/verification/postgres-verdict-store.ts";
import type { TestGateway } from "./gateway.ts";
import { testOperator } from "./test-operator.ts";

export async function recordVerdict(
  { running, backend }: TestGateway,
  providerId: string,
  verdict: ListingVerdict["verdict"],
): Promise<void> {
  const { deployments } = running.catalog.current;
  const listed = deployments.find((each) => each.providerId === providerId);
  if (listed === undefined) throw new Error(`${providerId} is not listed`);
  const { modelId, upstreamModelId, manifestSha256 } = listed;
  const run = { verdict, checkedAtMs: Date.now(), source: "run", checks: [] } as const;
  const found = { providerId, modelId, upstreamModelId, manifestSha256, ...run };
  await backend.verdictStore.record([found], testOperator);
}
