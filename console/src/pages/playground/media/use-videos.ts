import { useCallback, useEffect, useRef } from "react";

import { BrowserShelf, useShelf } from "../browser-store.ts";
import { GatewayFault, sendJson } from "../gateway.ts";
import { useFreshBalance } from "../tab-props.ts";
import type { MediaCall } from "./media-form.tsx";
import { isRunning, readJob, chooseWaitMs, type VideoJob } from "./media-answer.ts";

const KEPT_MAX = 100;
const shelf = new BrowserShelf<VideoJob>("videos", KEPT_MAX);

/** The video jobs that this browser stores. Each job is polled until it has ended. */
export function useVideos(orgId: string) {
  const { records: jobs = [], keep, forget } = useShelf(shelf, orgId);
  const freshBalance = useFreshBalance();
  const reported = useCallback(
    (job: VideoJob) => {
      keep(job);
      // The hold of a job that has ended was settled or voided, so the balance has changed.
      if (!isRunning(job)) freshBalance();
    },
    [keep, freshBalance],
  );
  usePolls(jobs, reported);
  return {
    jobs,
    forget,
    make: async ({ body, modelName }: MediaCall) => {
      const answer = await sendJson("/videos", { body });
      const read = readJob(answer);
      if (read === undefined) throw new GatewayFault(200, answer.json);
      keep({ ...read, orgId, prompt: body.prompt, modelName, updatedAtMs: Date.now() });
    },
  };
}

/** Polls every running job at growing intervals, but not while the page is hidden. */
function usePolls(jobs: readonly VideoJob[], reported: (job: VideoJob) => void): void {
  const latest = useRef(jobs);
  latest.current = jobs;
  const running = jobs.filter(isRunning).map(({ id }) => id);
  const runningIds = running.join(" ");
  useEffect(() => {
    const ends = runningIds
      .split(" ")
      .filter(Boolean)
      .map((id) => keepLooking(() => latest.current.find((each) => each.id === id), reported));
    return () => {
      for (const end of ends) end();
    };
  }, [runningIds, reported]);
}

function keepLooking(
  job: () => VideoJob | undefined,
  reported: (job: VideoJob) => void,
): () => void {
  const abort = new AbortController();
  let timer: ReturnType<typeof setTimeout>;
  let polls = 0;
  const next = (): void => {
    timer = setTimeout(() => void poll(), chooseWaitMs(polls));
    polls += 1;
  };
  const poll = async (): Promise<void> => {
    const before = job();
    if (before === undefined) return;
    if (document.visibilityState === "visible") {
      const after = await pollJob(before, abort.signal);
      if (abort.signal.aborted) return;
      if (after !== undefined) reported(after);
      if (after !== undefined && !isRunning(after)) return;
    }
    next();
  };
  next();
  return () => {
    abort.abort();
    clearTimeout(timer);
  };
}

async function pollJob(job: VideoJob, signal: AbortSignal): Promise<VideoJob | undefined> {
  try {
    const read = readJob(await sendJson(`/videos/${encodeURIComponent(job.id)}`, { signal }));
    return read === undefined ? undefined : { ...job, ...read };
  } catch (fault) {
    if (!(fault instanceof GatewayFault) || fault.status !== 404) return undefined;
    return { ...job, status: "failed", errorCode: "video_expired", costUsd: undefined };
  }
}
