export { type ClaimPart, claimRefusal } from "./admit.ts";
export type { AcceptedJob, CallKind } from "./call-kind.ts";
export { serveCall } from "./call.ts";
export { claimParts, partOf } from "./claim-limits.ts";
export type { ClientExchange, ServedHeaders } from "./client-exchange.ts";
export { claimOrgSetting, countRequest, countSetting } from "./count-request.ts";
export { DetachedReadLimit } from "./detached-read-limit.ts";
export {
  callInProcess,
  type InProcessEnd,
  type InProcessRequest,
  type LoggedCall,
} from "./in-process.ts";
export { add, GatewayMetrics } from "./metrics.ts";
export { findModel } from "./plan-call.ts";
export type { CallPorts, CallTimeouts } from "./ports.ts";
export { RefusalWindows } from "./refusal-windows.ts";
export type {
  AttemptTrace,
  ClosedRequest,
  ObservedAttempt,
  RequestTrace,
  TracedAttempt,
  TracedRequest,
  Tracing,
} from "./request-trace.ts";
export { quoteCall } from "./quote-call.ts";
export { reportFault, refuseBeforeBody, refuseCall } from "./refuse-call.ts";
export { serveCountTokens } from "./serve-count-tokens.ts";
export { dryRunOf, serveRoute } from "./serve-route.ts";
export { Shortfalls } from "./shortfalls.ts";
