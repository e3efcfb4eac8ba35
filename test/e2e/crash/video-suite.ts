import { afterAll, beforeAll, expect, test } from "vitest";

import type { TestAccount } from "../../support/gateway.ts";
import { VideoHost, videoManifest, videoModel } from "../../support/video-host.ts";
import { freshPrompt, postVideo } from "../../support/video-fixture.ts";
import { brokenRules, readBooks, type OrgBooks } from "./crash-books.ts";
import { openCrashFixture, type CrashFixture } from "./crash-fixture.ts";
import type { CrashProcess } from "./crash-process.ts";
import type { FailPoint } from "./fail-points.ts";
import { CREDIT } from "./scenario.ts";

/** The reserve of four seconds of video, and the cost of the finished one, in micro-dollars. */
export const RESERVE = 400_000n;
export const COST = 250_000n;
export const FINISHED = { id: "x", status: "completed", usage: { cost: 0.25 } };

/** A job that is over, and what the books said then. */
interface DecidedJob {
  readonly account: TestAccount;
  readonly books: OrgBooks;
}

/** A provider of videos, and gateways in front of it that come and go. */
export class VideoSuite {
  #fixture: CrashFixture | undefined;
  #host: VideoHost | undefined;
  readonly #decided: DecidedJob[] = [];

  /** Opens before the tests of the file that calls this, and closes behind them. */
  static forFile(): VideoSuite {
    const suite = new VideoSuite();
    beforeAll(async () => {
      const host = await VideoHost.start();
      suite.#host = host;
      const models = [videoModel("test/video")];
      const films = videoManifest({ provider: "films", url: host.url, models });
      suite.#fixture = await openCrashFixture([films]);
    });
    afterAll(async () => {
      await suite.#fixture?.close();
      await suite.#host?.close();
    });
    return suite;
  }

  get fixture(): CrashFixture {
    if (this.#fixture === undefined) throw new Error("the environment opens before the first test");
    return this.#fixture;
  }

  get host(): VideoHost {
    if (this.#host === undefined) throw new Error("the provider starts before the first test");
    return this.#host;
  }

  /** A fresh life of the gateway; `swept`: it polls jobs by itself, often. */
  restart(swept: boolean): Promise<CrashProcess> {
    const env = { TM_VIDEOS_SWEEP_MS: swept ? "50" : "3600000", TM_VIDEOS_POLL_MIN_MS: "1" };
    return this.fixture.restart({ env });
  }

  books(account: TestAccount): Promise<OrgBooks> {
    return readBooks(this.fixture.backend, account);
  }

  /** No later life may change anything of this. */
  decide(decided: DecidedJob): void {
    this.#decided.push(decided);
  }

  async makeAllDue(): Promise<void> {
    await this.fixture.backend.query(
      "update video_job set next_poll_at = now(), lease_until = null where completed_at is null",
    );
  }

  /** Registers the last test of a file that has decided so many jobs. */
  testUnchanged(count: number): void {
    test("another kill, and a start of the program as it is shipped, change nothing", async () => {
      await this.fixture.restart({ shipped: true });
      for (const { account, books } of this.#decided) {
        expect(await this.books(account)).toEqual(books);
      }
      expect(this.#decided).toHaveLength(count);
    });
  }
}

/** Asks for a video of a gateway that dies at this step. */
export async function dieAt(suite: VideoSuite, point: FailPoint): Promise<TestAccount> {
  const gateway = await suite.restart(false);
  const account = await suite.fixture.account();
  await gateway.order({ at: point, act: "die" });
  const body = { model: "test/video", prompt: freshPrompt() };
  await expect(postVideo(gateway, account.key, body)).rejects.toThrow();
  expect((await gateway.ended).signal).toBe("SIGKILL");
  return account;
}

/** The job is over: this is what was paid, and no later life changes anything. */
export async function expectPaid(
  suite: VideoSuite,
  account: TestAccount,
  paid: bigint,
): Promise<void> {
  const books = await suite.books(account);
  const wallet = { settled: books.settled, held: books.held };
  expect(wallet).toEqual({ settled: CREDIT - paid, held: 0n });
  expect(books.journal).toHaveLength(1);
  expect(await brokenRules(suite.fixture.backend)).toEqual([]);
  suite.decide({ account, books });
}
