import { ask } from "./ask.ts";
import { nothingHeld } from "./books.ts";
import type { TestAccount, TestGateway } from "./gateway.ts";
import { runSql } from "./sql.ts";

export const YESTERDAY: string = new Date(
  Math.floor(Date.now() / 86_400_000 - 1) * 86_400_000,
).toISOString();

/** Makes requests, and moves their end into a daily period that is over but not closed. */
export async function serveYesterday(
  gateway: TestGateway,
  model: string,
  texts: readonly string[],
): Promise<TestAccount> {
  const account = await gateway.account("5");
  for (const text of texts) {
    const { status } = await ask(gateway.url, { key: account.key, wire: "wire_a", model, text });
    if (status !== 200) throw new Error(`${model} was answered with ${status}`);
  }
  await nothingHeld(gateway, account);
  const steps = [
    "set session_replication_role = replica",
    `update attempt set closed_at = '${YESTERDAY}'::timestamptz + interval '5 hours'`,
  ];
  await runSql(gateway, steps.join(";"), []);
  return account;
}
