export { type JobStore, PostgresJobStore } from "./postgres-job-store.ts";
export { serveVideoContent } from "./serve-video-content.ts";
export { serveVideo, type VideoReadDeps } from "./serve-video.ts";
export { videoCall } from "./video-call.ts";
export type { VideoDeps } from "./video-deps.ts";
export { VideoMetrics } from "./video-metrics.ts";
export { VideoPoller } from "./video-poller.ts";
