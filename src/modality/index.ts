export { tokenCounting, TokenCounting } from "./chat/count-tokens.ts";
export { chatOn } from "./chat/index.ts";
export { ParsedChatRequest } from "./chat/parse-request.ts";
export { decisions } from "./decisions/index.ts";
export { type ImageReport, readImageReport } from "./images/image-usage.ts";
export { images } from "./images/index.ts";
export { contentPath, isVideoAccept, jobPath, readJob, videos } from "./videos/index.ts";
export { ParsedVideoRequest } from "./videos/parse-request.ts";
export type { ProviderJob, ProviderJobState } from "./videos/provider-job.ts";
