import { expect, test } from "vitest";

import { brokenBooks } from "../../support/books.ts";
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

/** A job that is over, and what the books said then. */
interface DecidedJob {
  readonly account: TestAccount;
  readonly books: OrgBooks;
}

/**
 * A provider of videos, and gateways in front of it that come and go, for the tests of the calling
 * file.
 */
export class VideoSuite {
  readonly host: VideoHost = withResource(() => VideoHost.start());
  readonly fixture: CrashFixture = withResource(() => {
    const models = [videoModel("test/video")];
    return openCrashFixture([videoManifest({ provider: "films", url: this.host.url, models })]);
  });
  readonly #decided: DecidedJob[] = [];

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
  expect(await brokenBooks(suite.fixture)).toEqual([]);
  suite.decide({ account, books });
}
