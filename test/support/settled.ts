import { until } from "./books.ts";
import type { TestAccount, TestGateway } from "./gateway.ts";
import { at, bearer, httpCall } from "./http-call.ts";

/** Waits until a request's last attempt has ended; returns the `data` of `/v1/generation`. */
export async function settledRecord(
  gateway: TestGateway,
  account: TestAccount,
  requestId: string | null | undefined,
): Promise<unknown> {
  const url = `${gateway.url}/v1/generation?id=${String(requestId)}`;
  return await until(`request ${String(requestId)} has ended`, async () => {
    const answer = await httpCall(url, { headers: bearer(account.key) });
    const hasEnded = answer.status === 200 && at(answer.json, "data.outcome") !== "in_flight";
    return hasEnded ? at(answer.json, "data") : undefined;
  });
}

export async function walletOf(gateway: TestGateway, account: TestAccount) {
  const balance = await gateway.backend.recordStore.balance(account.orgId);
  return { settled: balance.settledMicroUsd, held: balance.heldMicroUsd };
}

export function listedCost(promptTokens: number, outputTokens: number): number {
  return (promptTokens + 10 * outputTokens) / 1_000_000;
}

export function countingFetch(): { readonly fetch: typeof fetch; readonly count: () => number } {
  let asked = 0;
  return {
    fetch: (...call) => {
      asked += 1;
      return fetch(...call);
    },
    count: () => asked,
  };
}
