import { expect, test } from "vitest";

import { until } from "../../support/books.ts";
import { acceptedVideo, getVideo } from "../../support/video-fixture.ts";
import { hasSession, severSessions, waitingSessions } from "./crash-books.ts";
import { COST, expectPaid, FINISHED, RESERVE, VideoSuite } from "./video-suite.ts";

const suite = new VideoSuite();

test("a running video job survives a killed process, and its client can still poll it and pays its cost", async () => {
  const gateway = await suite.restart(false);
  const account = await suite.fixture.account();
  const video = await acceptedVideo(gateway, account);
  gateway.signal("SIGKILL");
  await gateway.ended;
  const next = await suite.restart(false);
  expect((await getVideo(next, account.key, video.id)).json).toMatchObject({ status: "queued" });
  suite.host.last.record = FINISHED;
  expect((await getVideo(next, account.key, video.id)).json).toMatchObject({
    status: "completed",
    usage: { cost: 0.25 },
  });
  await expectPaid(suite, account, COST);
});

test.each([true, false])(
  "a finished video job whose settling process is killed is debited once (commits later: %s)",
  async (commits) => {
    const gateway = await suite.restart(false);
    const account = await suite.fixture.account();
    const video = await acceptedVideo(gateway, account);
    suite.host.last.record = FINISHED;
    const lock = await suite.fixture.lockWallet(account);
    getVideo(gateway, account.key, video.id).catch(() => undefined);
    const [session] = await until("the end waits for the books", async () => {
      const waiting = await waitingSessions(suite.fixture.backend);
      return waiting.length > 0 && waiting;
    });
    gateway.signal("SIGKILL");
    await gateway.ended;
    if (!commits) await severSessions(suite.fixture.backend, session ?? "");
    await lock.release();
    const isGone = async () => !(await hasSession(suite.fixture.backend, session ?? ""));
    await until("its last statement is over", isGone);
    expect((await suite.books(account)).held).toBe(commits ? 0n : RESERVE);
    const polls = suite.host.last.polls.length;
    await suite.restart(true);
    await suite.makeAllDue();
    await until("it is settled", async () => (await suite.books(account)).held === 0n);
    expect(suite.host.last.polls).toHaveLength(commits ? polls : polls + 1);
    await expectPaid(suite, account, COST);
  },
);

suite.testUnchanged(3);
