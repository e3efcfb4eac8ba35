import { expect, test } from "vitest";

import { brokenBooks, until } from "../../support/books.ts";
import type { TestAccount } from "../../support/gateway.ts";
import { VideoHost, videoManifest, videoModel } from "../../support/video-host.ts";
import { freshPrompt, postVideo } from "../../support/video-fixture.ts";
import { withResource } from "../../support/with-resource.ts";
import { readBooks, type OrgBooks } from "./crash-books.ts";
import { openCrashFixture, type CrashFixture } from "./crash-fixture.ts";
import type { CrashProcess } from "./crash-process.ts";
import type { FailPoint } from "./fail-points.ts";
import { CREDIT } from "./scenario.ts";

/** The reserve of four seconds of video, and the cost of the finished one, in micro-dollars. */
export const RESERVE = 400_000n;
export const COST = 250_000n;
export const FINISHED = { id: "x", status: "completed", usage: { cost: 0.25 } };

/** A job that has ended, with the books at that time. */
interface DecidedJob {
  readonly account: TestAccount;
  readonly books: OrgBooks;
}

/** A video provider, and gateways that the tests of the calling file start and kill. */
export class VideoSuite {
  readonly host: VideoHost = withResource(() => VideoHost.start());
  readonly fixture: CrashFixture = withResource(() => {
    const models = [videoModel("test/video")];
    return openCrashFixture([videoManifest({ provider: "films", url: this.host.url, models })]);
  });
  readonly #decided: DecidedJob[] = [];

  /** Restarts the gateway; if `swept`, it often polls jobs by itself. */
  restart(swept: boolean): Promise<CrashProcess> {
    const env = { TM_VIDEOS_SWEEP_MS: swept ? "50" : "3600000", TM_VIDEOS_POLL_MIN_MS: "1" };
    return this.fixture.restart({ env });
  }

  books(account: TestAccount): Promise<OrgBooks> {
    return readBooks(this.fixture.backend, account);
  }

  /** Records a decision that no later start may change. */
  decide(decided: DecidedJob): void {
    this.#decided.push(decided);
  }

  async makeAllDue(): Promise<void> {
    await this.fixture.backend.query(
      "update video_job set next_poll_at = now(), lease_until = null where completed_at is null",
    );
  }

  /** Registers the last test of a file, whose other tests have called `decide` `count` times. */
  testUnchanged(count: number): void {
    test("another kill and a start of the shipped program change nothing in the books", async () => {
      await this.fixture.restart({ shipped: true });
      for (const { account, books } of this.#decided) {
        expect(await this.books(account)).toEqual(books);
      }
      expect(this.#decided).toHaveLength(count);
    });
  }
}

/** Requests a video from a gateway that dies at this step; returns the account. */
export async function dieAt(suite: VideoSuite, point: FailPoint): Promise<TestAccount> {
  const gateway = await suite.restart(false);
  const account = await suite.fixture.account();
  await gateway.order({ at: point, act: "die" });
  const body = { model: "test/video", prompt: freshPrompt() };
  // A very busy machine may answer 503 at first.
  const seen = await until("the request is not answered with 503", async () => {
    const sent = postVideo(gateway, account.key, body);
    const status = await sent.then((answer) => answer.status).catch(() => "none" as const);
    return status === 503 ? undefined : status;
  });
  expect(seen).toBe("none");
  expect((await gateway.ended).signal).toBe("SIGKILL");
  return account;
}

/** Checks the payment of a job that has ended, and records that it must not change any more. */
export async function expectPaid(
  suite: VideoSuite,
  account: TestAccount,
  paid: bigint,
): Promise<void> {
  const books = await suite.books(account);
  const wallet = { settled: books.settled, held: books.held };
  expect(wallet).toEqual({ settled: CREDIT - paid, held: 0n });
  expect(books.journal).toHaveLength(1);
  expect(await brokenBooks(suite.fixture)).toEqual([]);
  suite.decide({ account, books });
}
