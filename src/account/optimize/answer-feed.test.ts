import { expect, test } from "vitest";

import { createOrgId } from "../../kernel/core/ids.ts";
import { ZERO_MICRO_USD } from "../../kernel/core/money.ts";
import { byCaller } from "../../kernel/index.ts";
import { AnswerFeed, type FedAnswer, HeldFeeds } from "./answer-feed.ts";

function answer(promptAt: number, chars = 10): FedAnswer {
  return {
    kind: "answer",
    promptAt,
    modelId: "test/a",
    text: "x".repeat(chars),
    costMicroUsd: ZERO_MICRO_USD,
    firstByteMs: 1,
    totalMs: 2,
  };
}

function promptsOf(feed: AnswerFeed, after: number): readonly number[] {
  return feed.since(after).events.map(({ promptAt }) => promptAt);
}

test("answers are returned in order, and again to a reader that asks for them again", () => {
  const feed = new AnswerFeed();
  for (const promptAt of [0, 1, 2]) feed.push(answer(promptAt));
  expect(promptsOf(feed, 0)).toEqual([0, 1, 2]);
  expect(promptsOf(feed, 0)).toEqual([0, 1, 2]);
  expect(feed.since(2)).toMatchObject({ next: 3, lost: 0, hasMore: false });
  // A reader that has read all three events, or claims to have read more, gets none.
  for (const after of [3, 9]) {
    expect(feed.since(after)).toEqual({ events: [], next: after, lost: 0, hasMore: false });
  }
});

test("a full feed drops its oldest answers, and a reader sees how many were lost", () => {
  const feed = new AnswerFeed(1_000);
  for (let promptAt = 0; promptAt < 50; promptAt += 1) feed.push(answer(promptAt, 100));
  const held = feed.since(0);
  expect(held.events.length).toBe(5);
  expect(held).toMatchObject({ lost: 45, next: 50 });
  // A reader that had read the first 47 events has lost none.
  expect(feed.since(47)).toMatchObject({ lost: 0, next: 50 });
  expect(promptsOf(feed, 47)).toEqual([47, 48, 49]);
  // An answer that is larger than the feed's limit is not held.
  feed.push(answer(50, 5_000));
  expect(feed.since(0)).toEqual({ events: [], next: 51, lost: 51, hasMore: false });
});

test("many answers are returned in several parts, which together contain every answer", () => {
  const feed = new AnswerFeed();
  for (let promptAt = 0; promptAt < 60; promptAt += 1) feed.push(answer(promptAt, 16_000));
  const seen: number[] = [];
  let after = 0;
  for (let parts = 0; parts < 10; parts += 1) {
    const part = feed.since(after);
    seen.push(...part.events.map(({ promptAt }) => promptAt));
    after = part.next;
    if (!part.hasMore) break;
    expect(part.events.length).toBeLessThan(30);
  }
  expect(seen).toEqual(Array.from({ length: 60 }, (_none, at) => at));
});

const orgId = createOrgId();

function account(id: string): ReturnType<typeof byCaller> {
  return byCaller({ kind: "account", id, requestId: id, clientAddress: undefined });
}

function heldFeed(): AnswerFeed {
  const made = new AnswerFeed();
  made.push({ kind: "verdict", promptAt: 0, winner: null, costMicroUsd: ZERO_MICRO_USD });
  return made;
}

test("answers are found by the member who started the search, and by no other member or organization", () => {
  const feeds = new HeldFeeds(2);
  feeds.hold({ orgId, searchId: "s", by: account("ann") }, heldFeed());
  expect(feeds.find({ orgId, searchId: "s", by: account("ann") })).toBeDefined();
  expect(feeds.find({ orgId, searchId: "s", by: account("bob") })).toBeUndefined();
  const other = { orgId: createOrgId(), searchId: "s", by: account("ann") };
  expect(feeds.find(other)).toBeUndefined();
});

test("the feeds of all running searches are held, and of ended searches only the latest two", () => {
  const feeds = new HeldFeeds(2);
  const by = account("ann");
  const held = (): readonly string[] =>
    ["1", "2", "3", "4"].filter((id) => feeds.find({ orgId, searchId: id, by }) !== undefined);
  for (const searchId of ["1", "2", "3", "4"]) feeds.hold({ orgId, searchId, by }, heldFeed());
  expect(held()).toEqual(["1", "2", "3", "4"]);
  for (const searchId of ["3", "1", "2"]) feeds.endSoon(searchId);
  expect(held()).toEqual(["1", "2", "4"]);
  feeds.close();
  expect(held()).toEqual([]);
});
