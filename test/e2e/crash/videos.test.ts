import { afterAll, beforeAll, expect, test } from "vitest";

import { at, bearer, httpCall } from "../../support/http-call.ts";
import { until } from "../../support/books.ts";
import type { TestAccount } from "../../support/gateway.ts";
import { VideoHost, videoManifest, videoModel } from "../../support/video-host.ts";
import { acceptedVideo, freshPrompt, getVideo, postVideo } from "../../support/video-house.ts";
import {
  brokenRules,
  hasSession,
  readBooks,
  severSessions,
  waitingSessions,
  type OrgBooks,
} from "./crash-books.ts";
import { openCrashHouse, type CrashHouse } from "./crash-house.ts";
import type { CrashProcess } from "./crash-process.ts";
import type { FailPoint } from "./fail-points.ts";

/** What the customers of these tests have, and what four seconds hold of it. */
const CREDIT = 1_000_000n;
const RESERVE = 400_000n;
const COST = 250_000n;
const FINISHED = { id: "x", status: "completed", usage: { cost: 0.25 } };

let house: CrashHouse;
let host: VideoHost;
const decided: { readonly account: TestAccount; readonly books: OrgBooks }[] = [];

beforeAll(async () => {
  host = await VideoHost.start();
  const models = [videoModel("test/video")];
  house = await openCrashHouse([videoManifest({ provider: "films", url: host.url, models })]);
});
afterAll(async () => {
  await house.close();
  await host.close();
});

/** A fresh life of the gateway; `swept`: it looks at jobs by itself, often. */
function restart(swept: boolean): Promise<CrashProcess> {
  const env = { TM_VIDEOS_SWEEP_MS: swept ? "50" : "3600000", TM_VIDEOS_POLL_MIN_MS: "1" };
  return house.restart({ env });
}

/** Asks for a video of a gateway that dies at this step. */
async function dieAt(point: FailPoint): Promise<TestAccount> {
  const gateway = await restart(false);
  const account = await house.account();
  await gateway.order({ at: point, act: "die" });
  const body = { model: "test/video", prompt: freshPrompt() };
  await expect(postVideo(gateway, account.key, body)).rejects.toThrow();
  expect((await gateway.ended).signal).toBe("SIGKILL");
  return account;
}

const books = (account: TestAccount): Promise<OrgBooks> => readBooks(house.backend, account);

async function makeAllDue(): Promise<void> {
  await house.backend.query(
    "update video_job set next_poll_at = now(), lease_until = null where completed_at is null",
  );
}

/** The scene is over: this is what was paid, and no later life changes anything. */
async function expectDecided(account: TestAccount, paid: bigint): Promise<void> {
  const told = await books(account);
  expect({ settled: told.settled, held: told.held }).toEqual({ settled: CREDIT - paid, held: 0n });
  expect(told.journal).toHaveLength(1);
  expect(await brokenRules(house.backend)).toEqual([]);
  decided.push({ account, books: told });
}

test("killed when a provider had accepted and nobody had written it down: the reserve, once", async () => {
  const account = await dieAt("headers arrived");
  expect((await books(account)).journal).toMatchObject([{ state: "open" }]);
  const gateway = await restart(true);
  expect(await house.backend.query("select from video_job")).toHaveLength(0);
  await expectDecided(account, RESERVE);
  const [attempt] = (await books(account)).journal;
  const url = `${gateway.url}/v1/generation?id=${attempt?.requestId}`;
  expect(at((await httpCall(url, { headers: bearer(account.key) })).json, "data")).toMatchObject({
    outcome: "unknown_after_crash",
    cost_micro_usd: Number(RESERVE),
  });
});

test("killed when the job was written down and the client not told: the video is paid, no reserve", async () => {
  const account = await dieAt("last bytes");
  host.last.record = FINISHED;
  expect(await books(account)).toMatchObject({ held: RESERVE, journal: [{ state: "open" }] });
  await restart(false);
  // The next life leaves it alone: it is a job, and jobs go on.
  expect(await books(account)).toMatchObject({ held: RESERVE, journal: [{ state: "open" }] });
  await restart(true);
  await makeAllDue();
  await until("it is settled", async () => (await books(account)).held === 0n);
  await expectDecided(account, COST);
});

test("killed while a job runs: it goes on, and its client finds it again", async () => {
  const gateway = await restart(false);
  const account = await house.account();
  const video = await acceptedVideo(gateway, account);
  gateway.signal("SIGKILL");
  await gateway.ended;
  const next = await restart(false);
  expect((await getVideo(next, account.key, video.id)).json).toMatchObject({ status: "queued" });
  host.last.record = FINISHED;
  expect((await getVideo(next, account.key, video.id)).json).toMatchObject({
    status: "completed",
    usage: { cost: 0.25 },
  });
  await expectDecided(account, COST);
});

test.each([true, false])(
  "killed when the end of a job was known and not settled yet: one debit (it commits later: %s)",
  async (commits) => {
    const gateway = await restart(false);
    const account = await house.account();
    const video = await acceptedVideo(gateway, account);
    host.last.record = FINISHED;
    const lock = await house.lockWallet(account);
    getVideo(gateway, account.key, video.id).catch(() => undefined);
    const [session] = await until("the end waits for the books", async () => {
      const waiting = await waitingSessions(house.backend);
      return waiting.length > 0 && waiting;
    });
    gateway.signal("SIGKILL");
    await gateway.ended;
    if (!commits) await severSessions(house.backend, session ?? "");
    await lock.release();
    const isGone = async () => !(await hasSession(house.backend, session ?? ""));
    await until("its last statement is over", isGone);
    expect((await books(account)).held).toBe(commits ? 0n : RESERVE);
    const looks = host.last.looks.length;
    await restart(true);
    await makeAllDue();
    await until("it is settled", async () => (await books(account)).held === 0n);
    expect(host.last.looks).toHaveLength(commits ? looks : looks + 1);
    await expectDecided(account, COST);
  },
);

test("another kill, and a start of the program as it is shipped, change nothing", async () => {
  await house.restart({ shipped: true });
  for (const { account, books: then } of decided) expect(await books(account)).toEqual(then);
  expect(decided).toHaveLength(5);
});
