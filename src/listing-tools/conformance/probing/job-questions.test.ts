import { describe, expect, test } from "vitest";

import { readJob } from "../../../formats/index.ts";
import { followJob, type JobAnswer, type JobQuestions } from "./job-questions.ts";

const POLL_MS = 1_000;

/** A provider that answers polls from a list, and repeats the last answer. */
function answering(answers: readonly (object | number | undefined)[]): JobQuestions {
  let polls = 0;
  let nowMs = 0;
  return {
    deadlineMs: 10 * POLL_MS,
    nowMs: () => nowMs,
    ask: async () => {
      const answer = answers[Math.min(polls, answers.length - 1)];
      polls += 1;
      return answered(answer);
    },
    read: () => Promise.reject(new Error("no file is read")),
    cancel: () => Promise.reject(new Error("nothing is cancelled")),
    pause: async () => {
      nowMs += POLL_MS;
    },
  };
}

function answered(answer: object | number | undefined): JobAnswer | undefined {
  if (answer === undefined) return undefined;
  if (typeof answer === "number") return { status: answer, job: undefined };
  return { status: 200, job: readJob(Buffer.from(JSON.stringify(answer))) };
}

const running = { id: "j", status: "in_progress" };

test.each(["completed", "failed", "cancelled", "expired"])(
  "polling a job stops when its status is %s, and that status is reported",
  async (status) => {
    const end = await followJob(answering([running, running, { id: "j", status }]), "j");
    expect(end).toMatchObject({ kind: "ended", polls: 3, job: { state: status } });
  },
);

test("a job still in progress at the deadline is late", async () => {
  const end = await followJob(answering([running]), "j");
  expect(end).toEqual({ kind: "late", state: "in_progress", polls: 11 });
});

test("an unknown state does not end a job", async () => {
  const end = await followJob(answering([{ id: "j", status: "baking" }]), "j");
  expect(end).toMatchObject({ kind: "late", state: "unknown" });
});

describe("unusable answers to polls of a job", () => {
  test("are tolerated while fewer than five come in a row", async () => {
    const answers = [500, 503, undefined, {}, running, 500, { id: "j", status: "completed" }];
    expect(await followJob(answering(answers), "j")).toMatchObject({ kind: "ended" });
  });

  test.each([
    [404, "its record is answered with 404"],
    [{ hello: 1 }, "its record has neither an id nor a state"],
  ])("end the polling after five of %j: the job is lost", async (answer, reason) => {
    expect(await followJob(answering([running, answer]), "j")).toEqual({ kind: "lost", reason });
  });

  test("are an error of the run, not the provider's failure, if the network is silent", async () => {
    await expect(followJob(answering([running, undefined]), "j")).rejects.toMatchObject({
      status: "error",
    });
  });
});
