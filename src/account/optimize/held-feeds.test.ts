import { expect, test } from "vitest";

import { byCaller } from "../../kernel/index.ts";
import { ZERO_MICRO_USD } from "../../kernel/core/money.ts";
import { newOrgId } from "../../kernel/core/ids.ts";
import { AnswerFeed } from "./answer-feed.ts";
import { HeldFeeds } from "./held-feeds.ts";

const orgId = newOrgId();

function account(id: string): ReturnType<typeof byCaller> {
  return byCaller({ kind: "account", id, requestId: id, clientAddress: undefined });
}

function feed(): AnswerFeed {
  const made = new AnswerFeed();
  made.push({ kind: "verdict", promptAt: 0, winner: null, costMicroUsd: ZERO_MICRO_USD });
  return made;
}

test("answers are there for who started the search, and for no other member or organization", () => {
  const feeds = new HeldFeeds(2);
  feeds.hold({ orgId, searchId: "s", by: account("ann") }, feed());
  expect(feeds.find({ orgId, searchId: "s", by: account("ann") })).toBeDefined();
  expect(feeds.find({ orgId, searchId: "s", by: account("bob") })).toBeUndefined();
  const other = { orgId: newOrgId(), searchId: "s", by: account("ann") };
  expect(feeds.find(other)).toBeUndefined();
});

test("of searches that have ended, the last ones are held; running ones always", () => {
  const feeds = new HeldFeeds(2);
  const by = account("ann");
  const held = (): readonly string[] =>
    ["1", "2", "3", "4"].filter((id) => feeds.find({ orgId, searchId: id, by }) !== undefined);
  for (const searchId of ["1", "2", "3", "4"]) feeds.hold({ orgId, searchId, by }, feed());
  expect(held()).toEqual(["1", "2", "3", "4"]);
  for (const searchId of ["3", "1", "2"]) feeds.endSoon(searchId);
  expect(held()).toEqual(["1", "2", "4"]);
  feeds.close();
  expect(held()).toEqual([]);
});
