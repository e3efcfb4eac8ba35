import type { ProviderJob, ProviderJobState } from "../../../formats/index.ts";
import type { JobQuestions } from "./job-questions.ts";
import { ProbeNotSent } from "./observation.ts";

export type JobEnd =
  | { readonly kind: "ended"; readonly job: ProviderJob; readonly polls: number }
  /** The deadline passed; `state` is the last one that the provider reported. */
  | { readonly kind: "late"; readonly state: ProviderJobState; readonly polls: number }
  /** The provider stopped giving usable answers; `reason` says how the last one failed. */
  | { readonly kind: "lost"; readonly reason: string };

const BAD_ANSWERS_MAX = 5;

/** Polls a job until its end or deadline. Rejects with `ProbeNotSent` without a connection. */
export async function followJob(questions: JobQuestions, jobId: string): Promise<JobEnd> {
  const dueMs = questions.nowMs() + questions.deadlineMs;
  let state: ProviderJobState = "queued";
  let bad = 0;
  for (let polls = 1; ; polls += 1) {
    const answer = await questions.ask(jobId);
    const reason = answer && reasonAgainst(answer);
    if (answer?.job !== undefined && reason === undefined) {
      const { job } = answer;
      ({ state } = job);
      bad = 0;
      if (OVER.has(state)) return { kind: "ended", job, polls };
    } else {
      bad += 1;
      if (bad === BAD_ANSWERS_MAX) return givenUp(reason);
    }
    if (questions.nowMs() >= dueMs) return { kind: "late", state, polls };
    await questions.pause();
  }
}

const OVER: ReadonlySet<ProviderJobState> = new Set([
  "completed",
  "failed",
  "refused",
  "cancelled",
  "expired",
]);

type Answer = NonNullable<Awaited<ReturnType<JobQuestions["ask"]>>>;

function reasonAgainst({ status, job }: Answer): string | undefined {
  if (status >= 300) return `its record is answered with ${status}`;
  return job === undefined ? "its record has neither an id nor a state" : undefined;
}

function givenUp(reason: string | undefined): JobEnd {
  if (reason !== undefined) return { kind: "lost", reason };
  throw new ProbeNotSent("error", `no answer about the job, ${BAD_ANSWERS_MAX} times`);
}
