import type { Logger } from "pino";

import {
  type CallPorts,
  type VideoDeps,
  VideoMetrics,
  VideoPoller,
  type VideoReadDeps,
} from "../gateway/index.ts";
import type { Config } from "../kernel/index.ts";
import type { Backend } from "./open-backend.ts";

/** Puts together what the recipes of videos work with; the poller is not started yet. */
export function openVideos(
  options: {
    readonly config: Config;
    readonly log: Logger;
    readonly backend: Pick<Backend, "jobStore" | "connectionStore">;
  },
  serve: CallPorts,
): VideoReadDeps {
  const { config, log, backend } = options;
  const deps: VideoDeps = {
    ...serve,
    jobs: backend.jobStore,
    connections: backend.connectionStore,
    log,
    videos: {
      deadlineMs: config.videoDeadlineMs,
      pollMinMs: config.videoPollMinMs,
      sweepMs: config.videoSweepMs,
      answerTimeoutMs: config.videoAnswerTimeoutMs,
      clientWaitMs: config.videoClientWaitMs,
      noAnswerPauseMs: config.videoNoAnswerPauseMs,
      contentBytesMax: config.videoContentBytesMax,
    },
    videoMetrics: new VideoMetrics(),
    random: Math.random,
  };
  return { ...deps, poller: new VideoPoller(deps) };
}
