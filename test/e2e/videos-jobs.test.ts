import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { beforeAll, beforeEach, describe, expect, test } from "vitest";

import { addConnection, ENCRYPTION_KEY, OWN_KEY } from "../support/add-connection.ts";
import { assert } from "../../src/kernel/core/assert.ts";
import { brokenBooks, until } from "../support/books.ts";
import { StoppedClock } from "../support/clocks.ts";
import { grantCredit, PROVIDER_KEY, type TestAccount } from "../support/gateway.ts";
import { at, bearer, httpCall, type HttpAnswer } from "../support/http-call.ts";
import { expectRefusal } from "../support/refusals.ts";
import { runSql } from "../support/sql.ts";
import { testOperator } from "../support/test-operator.ts";
import { json } from "../support/video-host.ts";
import {
  acceptedVideo,
  endOf,
  getVideo,
  postVideo,
  reserveOf,
  withVideoFixture,
  type AcceptedVideo,
} from "../support/video-fixture.ts";

let account: TestAccount;

const fixture = withVideoFixture({ encryptionKey: ENCRYPTION_KEY });
beforeEach(async () => {
  account = await fixture.gateway.account("100.00");
});

const poll = (video: AcceptedVideo): Promise<HttpAnswer> =>
  getVideo(fixture.gateway, account.key, video.id);
const balance = () => fixture.gateway.backend.recordStore.balance(account.orgId);

/** Makes a running job; its provider reports `record` from now on. */
async function running(record: object, more: object = {}): Promise<AcceptedVideo> {
  const video = await acceptedVideo(fixture.gateway, account, { seconds: 8, ...more });
  fixture.host.last.record = record;
  return video;
}

/** These counters of the listing of all videos here. */
async function metrics(names: readonly string[]): Promise<Readonly<Record<string, number>>> {
  const { text } = await httpCall(`${fixture.gateway.running.internalUrl}/metrics`);
  const valueOf = (name: string): number => {
    const series = `${name}{provider="films",model="test/video"}`;
    const line = text.split("\n").find((each) => each.startsWith(series));
    return Number(line?.split(" ").at(-1) ?? 0);
  };
  return Object.fromEntries(names.map((name) => [name, valueOf(name)]));
}

describe("a job that runs", () => {
  test("shows its progress, which never falls and reaches 100 only at its end", async () => {
    const video = await running({ id: "x", status: "in_progress", progress: 40 });
    expect((await poll(video)).json).toMatchObject({ status: "in_progress", progress: 40 });
    fixture.host.last.record = { id: "x", status: "queued", progress: 20 };
    expect((await poll(video)).json).toMatchObject({ status: "in_progress", progress: 40 });
    fixture.host.last.record = { id: "x", status: "processing", progress: "100%" };
    const almost = await poll(video);
    expect(almost.json).toMatchObject({ status: "in_progress", progress: 99, completed_at: null });
    expect(almost.json).toMatchObject({ error: null, usage: null });
    expect(almost.headers["x-tm-provider"]).toBe("films");
    expect((await balance()).heldMicroUsd).toBe(reserveOf(8));
  });

  test.each([
    [401, { error: "no" }],
    [503, { error: "no" }],
    [200, { hello: "world" }],
  ])(
    "continues when the provider answers a poll with %i and %j, which is no strike",
    async (status, body) => {
      const video = await running({});
      fixture.host.last.answer = (_request, response) => json(response, status, body);
      for (let n = 0; n < 6; n++) {
        expect((await poll(video)).json).toMatchObject({ status: "queued", progress: 0 });
      }
      expect(fixture.host.last.polls).toHaveLength(6);
      // Neither the provider's health nor its pool has suffered.
      const next = await acceptedVideo(fixture.gateway, account);
      expect(next.answer.headers["x-tm-provider"]).toBe("films");
    },
  );
});

describe("a provider that gives no answer about a job", () => {
  /** On this clock, time passes only when a test moves it. */
  const clock = new StoppedClock();
  const quiet = withVideoFixture({ videoClientWaitMs: 200 }, clock);
  let owner: TestAccount;

  beforeAll(async () => {
    owner = await quiet.gateway.account("100.00");
  });

  const accepted = (model: string): Promise<AcceptedVideo> =>
    acceptedVideo(quiet.gateway, owner, { model });
  const ask = ({ id }: AcceptedVideo): Promise<HttpAnswer> =>
    getVideo(quiet.gateway, owner.key, id);

  test("leaves the job in its last known state, which clients get without waiting for the provider", async () => {
    const video = await accepted("test/video-both-1");
    const job = quiet.host.last;
    job.record = { id: "x", status: "in_progress", progress: 10 };
    await until("it is known", async () => at((await ask(video)).json, "progress") === 10);
    const known = job.polls.length;
    job.answer = () => undefined;
    const slow = ask(video);
    await until("the provider is asked", () => job.polls.length === known + 1);
    // A second client does not wait for the first one's poll.
    expect((await ask(video)).json).toMatchObject({ status: "in_progress", progress: 10 });
    expect((await slow).json).toMatchObject({ status: "in_progress", progress: 10 });
    expect(job.polls).toHaveLength(known + 1);
  });

  test("is not polled again before its retry-after has passed", async () => {
    const video = await accepted("test/video-both-0");
    const neighbour = await accepted("test/video-both-0");
    const [first, second] = quiet.host.jobs.slice(-2);
    assert(first !== undefined && second !== undefined, "there are two jobs");
    first.answer = (_request, response) =>
      void response.writeHead(429, { "retry-after": "1" }).end("{}");
    await until("it is asked", async () => (await ask(video)) && first.polls.length === 1);
    for (let n = 0; n < 5; n++) await ask(video);
    await ask(neighbour);
    clock.moveOn(999);
    await ask(video);
    expect([first.polls.length, second.polls.length]).toEqual([1, 0]);
    first.answer = undefined;
    first.record = { id: "x", status: "in_progress" };
    clock.moveOn(1);
    await until("it is asked after again", async () => {
      return at((await ask(video)).json, "status") === "in_progress";
    });
  });
});

describe("a finished video", () => {
  test("has its cost in its record, the balance and /v1/usage, and is not polled again", async () => {
    const expiresAt = Math.floor(Date.now() / 1000) + 3_600;
    const video = await running({
      id: "x",
      status: "completed",
      progress: 100,
      expires_at: expiresAt,
      usage: { cost: 0.6543219 },
    });
    const answer = await poll(video);
    expect(answer.json).toMatchObject({
      id: video.id,
      status: "completed",
      progress: 100,
      expires_at: expiresAt,
      error: null,
      usage: { cost: 0.654321, seconds: 8 },
      request_id: video.requestId,
    });
    expect(at(answer.json, "created_at")).toBe(at(video.answer.json, "created_at"));
    expect(Number(at(answer.json, "completed_at"))).toBeGreaterThanOrEqual(
      Number(at(answer.json, "created_at")),
    );
    expect(await balance()).toEqual({ settledMicroUsd: 99_345_679n, heldMicroUsd: 0n });
    expect(await endOf(fixture.gateway, account, video)).toEqual({
      outcome: "completed",
      debitMicroUsd: 654_321n,
    });
    const usage = await httpCall(`${fixture.gateway.url}/v1/usage`, {
      headers: bearer(account.key),
    });
    expect(at(usage.json, "data.0")).toMatchObject({
      request_id: video.requestId,
      route: "/v1/videos",
      provider: "films",
      cost_micro_usd: 654_321,
      settlement: "reported",
    });
    // A job that has ended is not polled any more, and does not change.
    fixture.host.last.record = { id: "x", status: "failed" };
    expect((await poll(video)).json).toEqual(answer.json);
    expect(fixture.host.last.polls).toHaveLength(1);
  });

  const missing = "tm_video_cost_missing_total";
  const over = "tm_video_cost_over_reserve_total";
  const impossible = "tm_usage_impossible_total";

  test.each<[string, object, bigint, string?]>([
    ["with a fraction of a micro-dollar is rounded down", { cost: 0.0000019 }, 1n],
    ["above the reserve is charged as the reserve, and counted", { cost: 0.80001 }, 800_000n, over],
    ["beyond all bounds is charged as nothing, and counted", { cost: 1e300 }, 0n, impossible],
    ["that is missing is charged as nothing, and counted", {}, 0n, missing],
  ])("costs what the provider reports, but a cost %s", async (_what, usage, debit, counted) => {
    const before = await metrics([missing, over, impossible]);
    const video = await running({ id: "x", status: "succeeded", usage });
    expect(at((await poll(video)).json, "usage")).toEqual({
      cost: Number(debit) / 1e6,
      seconds: 8,
    });
    expect((await endOf(fixture.gateway, account, video)).debitMicroUsd).toBe(debit);
    expect(await balance()).toEqual({ settledMicroUsd: 100_000_000n - debit, heldMicroUsd: 0n });
    const expected = counted === undefined ? {} : { [counted]: (before[counted] ?? 0) + 1 };
    expect(await metrics([missing, over, impossible])).toEqual({ ...before, ...expected });
  });

  test("without a cost makes its listing suspect at the tenth time", async () => {
    const suspects = () => fixture.gateway.backend.verdictStore.suspects();
    expect(await suspects()).toEqual([]);
    for (let n = 0; n < 10; n += 1) await poll(await running({ id: "x", status: "completed" }));
    await until("the listing is suspect", async () => (await suspects()).length > 0);
    expect(await suspects()).toMatchObject([{ providerId: "films", modelId: "test/video" }]);
  });
});

describe("a video that fails", () => {
  test("shows an error of the gateway without the provider's words, and charges nothing", async () => {
    const error = { code: "x", message: "Provider words http://internal" };
    const video = await running({ id: "x", status: "failed", error, usage: { cost: 0.5 } });
    const answer = await poll(video);
    expect(answer.status).toBe(200);
    expect(answer.headers).not.toHaveProperty("x-tm-error-code");
    const code = "video_generation_failed";
    expect(answer.json).toMatchObject({ status: "failed", error: { code }, usage: { cost: 0 } });
    expect(String(at(answer.json, "error.message"))).toContain("nothing was charged");
    expect(answer.text).not.toContain("Provider words");
    expect(Number(at(answer.json, "progress"))).toBeLessThan(100);
    expect(await balance()).toEqual({ settledMicroUsd: 100_000_000n, heldMicroUsd: 0n });
    const end = { outcome: "failed", debitMicroUsd: 0n };
    expect(await endOf(fixture.gateway, account, video)).toEqual(end);
  });

  test("of a job that its provider answers with 404 is video_expired after two minutes, not at once", async () => {
    const video = await running({});
    fixture.host.last.answer = (_request, response) => json(response, 404, {});
    for (let n = 0; n < 2; n++) {
      for (const _again of [1, 2, 3]) {
        expect((await poll(video)).json).toMatchObject({ status: "queued" });
      }
      const sql =
        "update video_job set missing_at = missing_at - interval '61 s' where job_id = $1";
      await runSql(fixture.gateway, sql, [video.id]);
    }
    expect((await poll(video)).json).toMatchObject({
      status: "failed",
      error: { code: "video_expired" },
    });
  });
});

describe("a job that was made with a customer's own key", () => {
  async function connect(): Promise<string> {
    const { orgId } = account;
    return await addConnection(fixture.gateway.backend, { orgId, provider: "films" });
  }

  test("is polled and downloaded with the same key, and costs the balance nothing", async () => {
    account = await fixture.gateway.account("0");
    const connectionId = await connect();
    const video = await running({ id: "x", status: "completed", usage: { cost: 0.5 } });
    fixture.host.last.file = Buffer.from("film");
    expect(at((await poll(video)).json, "usage.cost")).toBe(0);
    const url = `${fixture.gateway.url}/v1/videos/${video.id}/content`;
    expect((await httpCall(url, { headers: bearer(account.key) })).text).toBe("film");
    await fixture.gateway.backend.connectionStore.disable(
      connectionId,
      account.orgId,
      testOperator,
    );
    expectRefusal(await httpCall(url, { headers: bearer(account.key) }), {
      status: 404,
      code: "not_found",
      message: /no longer has the listing or the provider key/,
    });
    const { headers, polls, fetched } = fixture.host.last;
    for (const sent of [headers, ...polls, ...fetched.map((each) => each.headers)]) {
      expect(sent.authorization).toBe(`Bearer ${OWN_KEY}`);
      expect(JSON.stringify(sent)).not.toContain(PROVIDER_KEY);
    }
    expect(await endOf(fixture.gateway, account, video)).toEqual({
      outcome: "completed",
      debitMicroUsd: 0n,
    });
  });

  test("is not polled with another key after its connection was disabled", async () => {
    account = await fixture.gateway.account("5.00");
    const connectionId = await connect();
    const video = await running({ id: "x", status: "completed" });
    await fixture.gateway.backend.connectionStore.disable(
      connectionId,
      account.orgId,
      testOperator,
    );
    expect((await poll(video)).json).toMatchObject({ status: "queued" });
    expect(fixture.host.last.polls).toEqual([]);
  });
});

test("a trial organization is limited once the holds of its videos reach the bound of its spend", async () => {
  const { gateway } = fixture;
  const { backend } = gateway;
  account = await gateway.account("0");
  await grantCredit(backend, account.orgId, "100.00", { isTrial: true });
  const body = { model: "test/video", prompt: "waves", seconds: 8 };
  let held = 0n;
  const refused = await until("the bound is reached", async () => {
    const answer = await postVideo(gateway, account.key, body);
    if (answer.status !== 200) return answer;
    held += reserveOf(8);
    return undefined;
  });
  expectRefusal(refused, { status: 429, code: "usage_limited" });
  expect(held).toBeGreaterThanOrEqual(5_000_000n);
  expect(held - reserveOf(8)).toBeLessThan(5_000_000n);
});

test("a job ends and is charged after its listing's deprecation date, and waits for its deadline after the listing was removed", async () => {
  // This test is the last one, because no other can make a video without the listing.
  const { gateway, host } = fixture;
  const video = await running({ id: "x", status: "completed", usage: { cost: 0.1 } });
  const removed = host.last;
  const outlived = await running({ id: "x", status: "completed", usage: { cost: 0.2 } });
  const file = join(gateway.config.manifestsDir, "manifest-4.json");
  const changeCatalog = async (change: () => void): Promise<void> => {
    const { buildId } = gateway.running.catalog.current;
    change();
    await until("a new catalog", () => gateway.running.catalog.current.buildId !== buildId);
  };
  await changeCatalog(() => {
    const text = readFileSync(file, "utf8");
    writeFileSync(file, text.replaceAll('"upstream_id"', '"deprecation_date":"2020-01-01",$&'));
  });
  expect(gateway.running.catalog.current.find("test/video")).toBeUndefined();
  expect((await poll(outlived)).json).toMatchObject({ status: "completed", usage: { cost: 0.2 } });
  await changeCatalog(() => rmSync(file));
  expect((await poll(video)).json).toMatchObject({ status: "queued" });
  expect(removed.polls).toEqual([]);
  const late = "deadline_at = now(), polled_at = null";
  await runSql(gateway, `update video_job set ${late} where job_id = $1`, [video.id]);
  expect((await poll(video)).json).toMatchObject({
    status: "failed",
    error: { code: "video_timeout" },
    usage: { cost: 0 },
  });
});

test("the books balance after all tests", async () => {
  expect(await brokenBooks(fixture.gateway)).toEqual([]);
});
