import { expect, test } from "vitest";

import type { ActionName } from "../../src/kernel/changes/actions.ts";
import {
  byCaller,
  byOperator,
  type ChangedBy,
  type RecordedChange,
} from "../../src/kernel/changes/change.ts";
import type { FreshBackend } from "./postgres.ts";

export type OperatorAction = Extract<
  ActionName,
  | "console-link.create"
  | "price.change"
  | "listing.suspect"
  | `verdict.${string}`
  | `settlement.${string}`
  | `ledger.${string}`
  | `changes.${string}`
  | "customer.look-up"
  | "backup.create"
>;

/** Actions that other tests hold: of commands, sign-ins, and much preparation. */
export type OtherAction = Extract<
  ActionName,
  | "backup.create"
  | "ledger.close-day"
  | "ledger.recover"
  | "ledger.reopen"
  | "manifest.refresh"
  | "purchase.recover"
  | "schema.migrate"
  | "session.start"
  | "settlement.bear-lost"
  | "settlement.put-back"
  | `account.${string}`
  | "connection.reseal"
>;

export const operator = byOperator("ann");
export const account = byCaller({
  kind: "account",
  id: "acct_1",
  requestId: "request",
  clientAddress: "203.0.113.9",
});
export const virtualKey = byCaller({
  kind: "key",
  id: "key_1",
  requestId: "request",
  clientAddress: "2001:db8::1",
});

export const isoInstant = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/) as unknown;

export interface Expected {
  readonly by: ChangedBy;
  readonly target: unknown;
  readonly before: unknown;
  readonly after: unknown;
}

/** Runs one action. In the second form, `prepare` first creates what the action needs. */
export type Write =
  | (() => Promise<Expected>)
  | { readonly prepare: () => Promise<unknown>; readonly run: () => Promise<Expected> };

export function changeReader(
  backend: () => FreshBackend,
): () => Promise<readonly RecordedChange[]> {
  let position = 0;
  return async () => {
    const all = await backend().changeStore.list({ limit: 100 });
    const news = all.filter((each) => each.position > position).toReversed();
    position = news.at(-1)?.position ?? position;
    return news;
  };
}

export async function changesOf(
  { changeStore }: Pick<FreshBackend, "changeStore">,
  actionPrefix: ActionName,
): Promise<readonly RecordedChange[]> {
  return (await changeStore.list({ actionPrefix, limit: 100 })).toReversed();
}

/** Declares one test for each write, in order: some change what an earlier one created. */
export function testWrites(backend: () => FreshBackend, writes: Readonly<Record<string, Write>>) {
  const recorded = changeReader(backend);
  test.each(Object.entries(writes))("%s", async (action, write) => {
    if (typeof write === "object") await write.prepare();
    await recorded();
    const { target, by, before, after } = await (typeof write === "object" ? write.run() : write());
    const changes = await recorded();
    expect(changes).toHaveLength(1);
    expect(changes[0]).toMatchObject({ action, by, target });
    expect(changes[0]?.before).toEqual(before);
    expect(changes[0]?.after).toEqual(after);
  });
}
