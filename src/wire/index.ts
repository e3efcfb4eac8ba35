export {
  type AnswerBridge,
  type BridgeState,
  isPieces,
  type Output,
  type WholeBody,
} from "./answer/answer-bridge.ts";
export { JsonBridge } from "./answer/json-bridge.ts";
export { StreamBridge } from "./answer/stream-bridge.ts";
export { StreamTranslation } from "./answer/stream-translation.ts";
export type { KeyCheck, RequestCodec, TokenCounter, Wire } from "./contract.ts";
export { billingWording } from "./failure/account-wording.ts";
export {
  accountRefused,
  classifyEmbeddedError,
  classifyFailure,
  contentRefused,
  contextOverflow,
  type Failed,
  isAboutAccess,
  isAboutContent,
  isOverflow,
  isRateLimit,
  modelGone,
  providerFault,
  rateLimited,
  requestRejected,
  upstreamDetail,
} from "./failure/classify-failure.ts";
export { statusOfWording } from "./failure/code-status.ts";
export { contentPolicyWording } from "./failure/content-policy-wording.ts";
export {
  brokenOffFailure,
  connectionFailure,
  type ConnectionFault,
  timeoutFailure,
  unusableFailure,
  withoutBlame,
} from "./failure/failures.ts";
export {
  type ProviderErrorText,
  readProviderErrorText,
  wordsOf,
} from "./failure/provider-error-text.ts";
export { retryAfterSeconds } from "./failure/retry-after.ts";
export {
  type FailedAnswer,
  failedRead,
  type ReadAnswer,
  type UpstreamFailure,
} from "./failure/upstream-failure.ts";
export { speaksOf, type Wording } from "./failure/wording.ts";
export { whatIsTaken } from "./fields/accepted-values.ts";
export { chatVocabulary, type ChatWord, word } from "./fields/chat-vocabulary.ts";
export {
  anything,
  type Check,
  isFilledText,
  isInteger,
  isObject,
  isText,
  optional,
  problem,
  type Problem,
  shape,
  under,
} from "./fields/check-shape.ts";
export { KEPT_BACK, readDroppedParams } from "./fields/common-fields.ts";
export { upstreamControls } from "./fields/deployment-fields.ts";
export {
  findCredential,
  refuseForbidden,
  scanDeeper,
  TOO_MANY_VALUES,
} from "./fields/forbidden-fields.ts";
export { checkProvider, type ProviderControls, readControls } from "./fields/provider-controls.ts";
export type {
  AnswerContext,
  CallRequest,
  Conversation,
  ClientRequest,
  Modality,
  Unservable,
  UpstreamRequest,
} from "./modality.ts";
export type { AnswerJson, AnswerLabel, AnswerReader, ReadyAnswer } from "./neutral/chat-answer.ts";
export type { ChatCall } from "./neutral/chat-call.ts";
export { lostEffort } from "./neutral/effort.ts";
export { MediaCollector, type MediaPart } from "./neutral/media-collector.ts";
export {
  type ChatQuestion,
  type Fields,
  type ProviderAnswer,
  type ProviderCall,
  type ProviderEvent,
  type ProviderQuestions,
  type QuestionTool,
} from "./neutral/provider-answer.ts";
export { ServedModelNote } from "./neutral/served-model-note.ts";
export {
  headerName,
  TranslationIssues,
  type TranslationNeeds,
} from "./neutral/translation-issues.ts";
export { countOf, firstCount, inputOutputFlaw, type UsageReport } from "./neutral/usage-report.ts";
export { historyLosses } from "./history-rules.ts";
export { openaiChat } from "./openai-chat/index.ts";
export { findPricedFields, isOpen, isPricedMark, type PricedFields } from "./price-guard.ts";
export { providerAuth } from "./provider-auth.ts";
export { readReportedCost } from "./reported-cost.ts";
export { SseReader } from "./sse/sse-reader.ts";
export { otherChoices } from "./tool-choice.ts";
export { lostParameters, neededField, undeclaredFields } from "./wire-profile.ts";
export { wires, WireTable } from "./wires.ts";
