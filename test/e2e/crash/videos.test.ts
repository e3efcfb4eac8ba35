import { expect, test } from "vitest";

import { until } from "../../support/books.ts";
import { at, bearer, httpCall } from "../../support/http-call.ts";
import { COST, dieAt, expectPaid, FINISHED, RESERVE, VideoSuite } from "./video-suite.ts";

const suite = new VideoSuite();

test("an accepted video job that a killed process had not stored is charged its reserve once", async () => {
  const account = await dieAt(suite, "headers arrived");
  expect((await suite.books(account)).journal).toMatchObject([{ state: "open" }]);
  const gateway = await suite.restart(true);
  expect(await suite.fixture.backend.query("select from video_job")).toHaveLength(0);
  await expectPaid(suite, account, RESERVE);
  const [attempt] = (await suite.books(account)).journal;
  const url = `${gateway.url}/v1/generation?id=${attempt?.requestId}`;
  expect(at((await httpCall(url, { headers: bearer(account.key) })).json, "data")).toMatchObject({
    outcome: "unknown_after_crash",
    cost_micro_usd: Number(RESERVE),
  });
});

test("a stored video job that a killed process had not returned is charged its cost, not its reserve", async () => {
  const account = await dieAt(suite, "last bytes");
  suite.host.last.record = FINISHED;
  expect(await suite.books(account)).toMatchObject({ held: RESERVE, journal: [{ state: "open" }] });
  await suite.restart(false);
  // The restarted gateway leaves the attempt open, because its job continues.
  expect(await suite.books(account)).toMatchObject({ held: RESERVE, journal: [{ state: "open" }] });
  await suite.restart(true);
  await suite.makeAllDue();
  await until("it is settled", async () => (await suite.books(account)).held === 0n);
  await expectPaid(suite, account, COST);
});

suite.testUnchanged(2);
