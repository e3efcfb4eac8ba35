import { useCallback, useEffect, useRef, useState } from "react";

import { BrowserShelf } from "../browser-store.ts";
import { GatewayFault, sendJson } from "../gateway.ts";
import { useFreshBalance } from "../use-fresh-balance.ts";
import { isRunning, readJob, waitMsOf, type VideoJob } from "./video-job.ts";

const KEPT_MAX = 100;
const shelf = new BrowserShelf<VideoJob>("videos", { count: KEPT_MAX });

export interface Videos {
  readonly jobs: readonly VideoJob[];
  /** Rejects with `GatewayFault`. */
  readonly make: (wanted: {
    readonly body: { readonly model: string; readonly prompt: string };
    readonly modelName: string;
  }) => Promise<void>;
  readonly forget: (id: string) => void;
}

/** The video jobs of this browser, polled until each has ended. */
export function useVideos(orgId: string): Videos {
  const [jobs, setJobs] = useState<readonly VideoJob[]>([]);
  useEffect(() => {
    void shelf
      .list(orgId)
      .then((kept) =>
        setJobs((made) => [
          ...made,
          ...kept.filter((each) => !made.some(({ id }) => id === each.id)),
        ]),
      );
  }, [orgId]);

  const freshBalance = useFreshBalance();
  const reported = useCallback(
    (job: VideoJob) => {
      void shelf.keep(job);
      setJobs((before) => before.map((each) => (each.id === job.id ? job : each)));
      // The job's hold is settled or released.
      if (!isRunning(job)) freshBalance();
    },
    [freshBalance],
  );
  const forget = useCallback((id: string) => {
    void shelf.forget(id);
    setJobs((before) => before.filter((each) => each.id !== id));
  }, []);
  usePolls(jobs, reported);

  const make = useCallback<Videos["make"]>(
    async ({ body, modelName }) => {
      const answer = await sendJson("/videos", { body });
      const read = readJob(answer);
      if (read === undefined) throw new GatewayFault(200, answer.json);
      const job = { ...read, orgId, prompt: body.prompt, modelName, updatedAtMs: Date.now() };
      void shelf.keep(job);
      setJobs((before) => [job, ...before]);
      freshBalance();
    },
    [orgId, freshBalance],
  );
  return { jobs, make, forget };
}

/** Polls every running job, with growing pauses, and not while the page is hidden. */
function usePolls(jobs: readonly VideoJob[], reported: (job: VideoJob) => void): void {
  const latest = useRef(jobs);
  latest.current = jobs;
  const running = jobs.filter(isRunning).map(({ id }) => id);
  const runningIds = running.join(" ");
  useEffect(() => {
    const ends = runningIds
      .split(" ")
      .filter((id) => id !== "")
      .map((id) => keepLooking(id, () => latest.current.find((each) => each.id === id), reported));
    return () => {
      for (const end of ends) end();
    };
  }, [runningIds, reported]);
}

function keepLooking(
  id: string,
  job: () => VideoJob | undefined,
  reported: (job: VideoJob) => void,
): () => void {
  const abort = new AbortController();
  let timer: ReturnType<typeof setTimeout>;
  let polls = 0;
  const next = (): void => {
    timer = setTimeout(() => void poll(), waitMsOf(polls));
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

/** What is known now; undefined when it could not be asked. */
async function pollJob(job: VideoJob, signal: AbortSignal): Promise<VideoJob | undefined> {
  try {
    const read = readJob(await sendJson(`/videos/${encodeURIComponent(job.id)}`, { signal }));
    return read === undefined ? undefined : { ...job, ...read };
  } catch (fault) {
    if (!(fault instanceof GatewayFault) || fault.status !== 404) return undefined;
    return { ...job, status: "failed", errorCode: "video_expired", costUsd: undefined };
  }
}
