import { asObject } from "../../../kernel/index.ts";
import type { Wire } from "../contract.ts";
import { asCount } from "../neutral/usage-report.ts";
import { anthropicMessagesAnswers } from "./answer-json.ts";
import { errorBody } from "./events.ts";
import { estimateDocument } from "./estimate-tokens.ts";
import { providerQuestions } from "./provider-questions.ts";
import { anthropicMessagesRequests, versionHeader } from "./request-codec.ts";
import { AnthropicMessagesDecoder } from "./stream-decoder.ts";
import { AnthropicMessagesEncoder } from "./stream-encoder.ts";
import { AnthropicMessagesRelay } from "./stream-relay.ts";

export const anthropicMessages: Wire = {
  id: "wire_b",
  clientPath: "/v1/messages",
  dryRunName: "messages",
  requests: anthropicMessagesRequests,
  answers: anthropicMessagesAnswers,
  streams: {
    decoder: (_isStopSequence, note) => new AnthropicMessagesDecoder(note),
    encoder: (label) => new AnthropicMessagesEncoder(label),
    relay: (label, note) => new AnthropicMessagesRelay(label, note),
  },
  errorBody,
  providerQuestions,
  authHeader: (key) => ["x-api-key", key],
  keyCheck: { path: "/models", headers: versionHeader },
  tokenCounter: {
    clientPath: "/v1/messages/count_tokens",
    path: "/messages/count_tokens",
    estimate: estimateDocument,
    read: (json) => asCount(asObject(json)?.["input_tokens"]),
    answerBody: (tokens) => Buffer.from(`{"input_tokens":${tokens}}`),
  },
};
