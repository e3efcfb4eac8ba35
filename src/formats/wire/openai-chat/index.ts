import type { Wire } from "../contract.ts";
import { openaiChatAnswers } from "./answer-json.ts";
import { errorBody } from "./chunks.ts";
import { providerQuestions } from "./provider-questions.ts";
import { openaiChatRequests } from "./request-codec.ts";
import { OpenaiChatDecoder } from "./stream-decoder.ts";
import { OpenaiChatEncoder } from "./stream-encoder.ts";
import { OpenaiChatRelay } from "./stream-relay.ts";

export const openaiChat: Wire = {
  id: "wire_a",
  clientPath: "/v1/chat/completions",
  dryRunName: "chat",
  requests: openaiChatRequests,
  answers: openaiChatAnswers,
  streams: {
    decoder: (isStopSequence, note, reading = {}) =>
      new OpenaiChatDecoder({ isStopSequence, note, reading }),
    encoder: (label) => new OpenaiChatEncoder(label),
    relay: (label, note, reading) => new OpenaiChatRelay(label, note, reading),
  },
  errorBody,
  providerQuestions,
  authHeader: (key) => ["authorization", `Bearer ${key}`],
  keyCheck: { path: "/models", headers: {} },
};
