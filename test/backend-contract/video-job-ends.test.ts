import { beforeEach, describe, expect, test } from "vitest";

import { microUsd } from "../../src/kernel/core/money.ts";
import type { NewVideoJob } from "../../src/gateway/videos/video-job.ts";
import { withJobFixture, type Owner } from "../support/job-fixture.ts";
import { closeRow, voidRow } from "../support/ledger-rows.ts";
import { testOperator } from "../support/test-operator.ts";
import { costing, reportEnd, jobUpdate } from "../support/video-jobs.ts";

const fixture = withJobFixture();
let owner: Owner;
beforeEach(async () => {
  owner = await fixture.owner();
});

describe("the end of a job", () => {
  test("as completed stores its cost, the expiry of its file and a progress of 100 percent", async () => {
    const job = await fixture.accepted(owner);
    const served = { name: "film-two", isSubstituted: true };
    const end = reportEnd(job, { ...costing(320n), expiresAtMs: 1_795_000_000_000, served });
    expect(await fixture.backend.jobStore.finish(job.jobId, end)).toMatchObject({
      state: "completed",
      progress: 100,
      completedAtMs: expect.any(Number),
      expiresAtMs: 1_795_000_000_000,
      errorCode: null,
      costMicroUsd: 320n,
    });
    const reported = { served_model: "film-two", substituted: true };
    const row = { state: "settled", debit: "320", ...reported };
    expect(await fixture.attempt(job)).toMatchObject(row);
  });

  test("as failed debits nothing, and records what the provider charges", async () => {
    const job = await fixture.accepted(owner);
    await fixture.backend.jobStore.keep(job.jobId, jobUpdate({ progress: 60 }));
    const end = reportEnd(job, { errorCode: "content_policy_violation", ...costing(320n) });
    expect(await fixture.backend.jobStore.finish(job.jobId, end)).toMatchObject({
      state: "failed",
      progress: 60,
      errorCode: "content_policy_violation",
      costMicroUsd: 0n,
    });
    expect(await fixture.attempt(job)).toMatchObject({ state: "void", debit: "0" });
    const reported = "select reported_cost_pico::text as cost from video_job where job_id = $1";
    expect(await fixture.backend.query(reported, [job.jobId])).toEqual([{ cost: "320999999" }]);
    expect(await fixture.settledMicroUsd(owner)).toBe(10_000n);
  });

  test("as failed with a debit throws, and leaves the attempt open", async () => {
    const job = await fixture.accepted(owner);
    const end = {
      ...reportEnd(job, costing(3n)),
      state: "failed",
      errorCode: "video_timeout",
    } as const;
    await expect(fixture.backend.jobStore.finish(job.jobId, end)).rejects.toThrow("costs nothing");
    expect(await fixture.attempt(job)).toMatchObject({ state: "open" });
  });

  test("closes its own attempt only", async () => {
    const job = await fixture.accepted(owner);
    const neighbour = await fixture.hold(owner);
    const end = reportEnd({ ...job, attemptId: neighbour.attemptId }, costing(3n));
    await expect(fixture.backend.jobStore.finish(job.jobId, end)).rejects.toThrow(
      "its own attempt",
    );
    expect(await fixture.attempt(neighbour)).toMatchObject({ state: "open" });
    await fixture.ledger.close(voidRow(neighbour.attemptId));
  });

  test("debits nothing when the job cannot be written", async () => {
    const job = await fixture.accepted(owner);
    const end = reportEnd(job, costing(320n));
    await fixture.whileBroken("update", async () => {
      await expect(fixture.backend.jobStore.finish(job.jobId, end)).rejects.toThrow("on purpose");
      expect(await fixture.attempt(job)).toMatchObject({ state: "open" });
      expect(await fixture.settledMicroUsd(owner)).toBe(10_000n);
    });
    await fixture.backend.jobStore.finish(job.jobId, end);
    expect(await fixture.settledMicroUsd(owner)).toBe(9_680n);
  });
});

describe("a job whose attempt another process closed", () => {
  test("ends too, and shows what was debited", async () => {
    const job = await fixture.accepted(owner);
    await fixture.ledger.close(closeRow(job.attemptId, 77n));
    const end = await fixture.backend.jobStore.finish(job.jobId, reportEnd(job, costing(320n)));
    expect(end).toMatchObject({ state: "completed", costMicroUsd: 77n });
    expect(await fixture.settledMicroUsd(owner)).toBe(9_923n);
  });

  test("at its reserve returns the difference", async () => {
    const charged = async (): Promise<NewVideoJob> => {
      const job = await fixture.accepted(owner);
      await fixture.ledger.close(voidRow(job.attemptId, { basis: "unknown_after_crash" }));
      return job;
    };
    const [film, none] = [await charged(), await charged()];
    expect(await fixture.settledMicroUsd(owner)).toBe(8_000n);
    const { jobStore } = fixture.backend;
    const failed = reportEnd(none, { errorCode: "video_expired" });
    expect(await jobStore.finish(none.jobId, failed)).toMatchObject({ costMicroUsd: 0n });
    expect(await jobStore.finish(film.jobId, reportEnd(film, costing(320n)))).toMatchObject({
      costMicroUsd: 320n,
    });
    expect(await fixture.settledMicroUsd(owner)).toBe(9_680n);
  });
});

describe("video jobs beside running traffic", () => {
  test("end and are polled while other attempts of their organizations close, without a lasting deadlock", async () => {
    const owners = await Promise.all([fixture.owner(), fixture.owner(), fixture.owner()]);
    const jobs = await Promise.all(
      Array.from({ length: 45 }, (_, i) => fixture.accepted(owners[i % 3] ?? owner, {}, 10n)),
    );
    const chats = await Promise.all(
      Array.from({ length: 90 }, (_, i) => fixture.hold(owners[i % 3] ?? owner, 10n)),
    );
    const [one, two] = fixture.stores;
    await Promise.all([
      ...jobs.map((job, i) => one.finish(job.jobId, reportEnd(job, costing(BigInt(i % 12))))),
      ...jobs.map((job) => two.keep(job.jobId, jobUpdate())),
      ...jobs.map((job) => two.finish(job.jobId, reportEnd(job, costing(4n)))),
      ...chats.map((row) => fixture.ledger.close(closeRow(row.attemptId, 3n))),
      ...owners.map((each) =>
        fixture.backend.accountStore.setOrgCap(each.orgId, microUsd(1_000_000n), testOperator),
      ),
      ...Array.from({ length: 10 }, () => two.takeDue({ limit: 9, leaseMs: 1 })),
    ]);
    for (const { orgId } of owners) {
      expect((await fixture.backend.recordStore.balance(orgId)).heldMicroUsd).toBe(0n);
    }
  });
});

test("the books balance after all tests", async () => {
  expect(await fixture.brokenBooks()).toEqual([]);
});
