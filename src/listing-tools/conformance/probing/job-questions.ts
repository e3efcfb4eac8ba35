import { setTimeout as sleep } from "node:timers/promises";

import type { Deployment } from "../../../catalog/index.ts";
import type { Clock, Deadlines } from "../../../kernel/index.ts";
import {
  type ContentEnd,
  fetchAnswer,
  fetchContent,
  type FetchedAnswer,
  type FetchInput,
  type UpstreamClient,
} from "../../../upstream/index.ts";
import {
  contentPath,
  jobPath,
  type ProviderJob,
  type ProviderJobState,
  readJob,
} from "../../../formats/index.ts";
import { ProbeNotSent } from "./observation.ts";

export interface JobQuestions {
  readonly deadlineMs: number;
  nowMs(): number;
  /** Polls once. Undefined if no answer came in time. */
  ask(jobId: string): Promise<JobAnswer | undefined>;
  /** Reads a part of the file; both ends of the range are inclusive. */
  read(jobId: string, range: ByteRange): Promise<FilePart>;
  cancel(jobId: string): Promise<void>;
  /** Waits until the next poll; rejects with `ProbeNotSent` if the run ends. */
  pause(): Promise<void>;
}

export interface JobAnswer {
  readonly status: number;
  readonly job: ProviderJob | undefined;
}

export interface ByteRange {
  readonly first: number;
  readonly last: number;
}

export interface FilePart {
  readonly end: ContentEnd;
  readonly status: number | undefined;
  readonly contentRange: string | undefined;
  /** At most as many bytes as the range has, even if the provider sends more. */
  readonly bytes: Buffer;
}

export interface JobDeps {
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  readonly upstream: Pick<UpstreamClient, "get" | "getElsewhere" | "delete">;
  readonly signal: AbortSignal;
  /** Milliseconds between two polls. Default 3000. */
  readonly pollMs?: number;
}

/** How long a job may take until its end. */
const DEADLINE_MS = 900_000;
const POLL_MS = 3_000;
/** Maximum wait for the answer to a poll, and for the next bytes of a file. */
const ANSWER_MS = 30_000;
const RECORD_BYTES_MAX = 1_048_576;
const FILE_BYTES_MAX = 1_073_741_824;

export function jobQuestions(deps: JobDeps, deployment: Deployment): JobQuestions {
  const { clock, deadlines, upstream, signal, pollMs = POLL_MS } = deps;
  const fetchRecord = (send: FetchInput["send"]): Promise<FetchedAnswer | undefined> =>
    fetchAnswer({ clock, deadlines, totalMs: ANSWER_MS, bytesMax: RECORD_BYTES_MAX, send }).ended;
  const about = (jobId: string): { path: string; headers: Record<string, string> } => ({
    path: jobPath(deployment, jobId),
    headers: { accept: "application/json" },
  });
  return {
    deadlineMs: DEADLINE_MS,
    nowMs: () => clock.monotonicMs(),
    ask: async (jobId) => {
      const answer = await fetchRecord((handler) =>
        upstream.get(deployment, about(jobId), handler),
      );
      return answer && { status: answer.status, job: readJob(answer.body) };
    },
    cancel: async (jobId) => {
      await fetchRecord((handler) => upstream.delete(deployment, about(jobId), handler));
    },
    read: (jobId, range) => readPart(deps, { deployment, jobId, range }),
    pause: async () => {
      await sleep(pollMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) throw new ProbeNotSent("skip", "the run was ended");
    },
  };
}

async function readPart(
  { clock, deadlines, upstream }: JobDeps,
  asked: { readonly deployment: Deployment; readonly jobId: string; readonly range: ByteRange },
): Promise<FilePart> {
  const { deployment, jobId, range } = asked;
  const wanted = range.last - range.first + 1;
  const kept: Buffer[] = [];
  let length = 0;
  let head: Pick<FilePart, "status" | "contentRange"> | undefined;
  const running = fetchContent({
    clock,
    deadlines,
    upstream,
    deployment,
    path: contentPath(deployment, jobId),
    range: `bytes=${range.first}-${range.last}`,
    headOnly: false,
    idleMs: ANSWER_MS,
    bytesMax: FILE_BYTES_MAX,
    sink: {
      get committed() {
        return head !== undefined;
      },
      begin: ({ status, contentHeaders }) => {
        head = { status, contentRange: contentHeaders["content-range"] };
      },
      write: (chunk) => {
        const piece = chunk.subarray(0, wanted - length);
        kept.push(Buffer.from(piece));
        length += piece.length;
        // A provider that ignores the range sends the whole film, but the rest is not needed.
        if (piece.length < chunk.length) setImmediate(() => running.abandon());
        return true;
      },
    },
  });
  const end = await running.ended;
  return {
    end,
    status: head?.status,
    contentRange: head?.contentRange,
    bytes: Buffer.concat(kept),
  };
}

export type JobEnd =
  | { readonly kind: "ended"; readonly job: ProviderJob; readonly polls: number }
  /** The deadline passed; `state` is the last one that the provider reported. */
  | { readonly kind: "late"; readonly state: ProviderJobState; readonly polls: number }
  /** The provider stopped giving usable answers; `reason` says how the last one failed. */
  | { readonly kind: "lost"; readonly reason: string };

const BAD_ANSWERS_MAX = 5;
const NO_ANSWERS = `no answer about the job, ${BAD_ANSWERS_MAX} times`;

/** Polls a job until its end or deadline. Rejects with `ProbeNotSent` if no answers come. */
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
      if (bad === BAD_ANSWERS_MAX && reason !== undefined) return { kind: "lost", reason };
      if (bad === BAD_ANSWERS_MAX) throw new ProbeNotSent("error", NO_ANSWERS);
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

function reasonAgainst({ status, job }: JobAnswer): string | undefined {
  if (status >= 300) return `its record is answered with ${status}`;
  return job === undefined ? "its record has neither an id nor a state" : undefined;
}
