export { isPrivateAddress, isPrivateHost } from "./address-guard.ts";
export { attemptClassifier } from "./classifier.ts";
export { type ContentEnd, fetchContent } from "./fetch-content.ts";
export {
  fetchAnswer,
  type FetchedAnswer,
  type FetchInput,
  fetchJson,
  type RunningFetch,
} from "./fetch-json.ts";
export type { Outbound, OutboundRoute } from "./provider-connections.ts";
export { type FindAddresses, ForeignNames } from "./resolve-names.ts";
export { postOnce, type PostEnd, resolvesToPrivate } from "./post-once.ts";
export { ownKeyClassifier } from "./own-key-classifier.ts";
export {
  type AttemptClassifier,
  type AttemptHandler,
  type AttemptResult,
  type AttemptTimeouts,
  type OutputSink,
  runAttempt,
  type RunningAttempt,
  streamBytesMax,
} from "./run-attempt.ts";
export { UpstreamClient, type UpstreamQuestion } from "./upstream-client.ts";
