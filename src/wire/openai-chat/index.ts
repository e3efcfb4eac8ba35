import type { Wire } from "../contract.ts";
import { openaiChatAnswers } from "./answer-json.ts";
import { errorBody } from "./error-body.ts";
import { openaiChatRequests } from "./request-codec.ts";
import { WireAStreamDecoder } from "./stream-decoder.ts";
import { WireAStreamEncoder } from "./stream-encoder.ts";
import { WireAStreamRelay } from "./stream-relay.ts";

/** Chat completions. */
export const openaiChat: Wire = {
  id: "wire_a",
  clientPath: "/v1/chat/completions",
  dryRunName: "chat",
  requests: openaiChatRequests,
  answers: openaiChatAnswers,
  streams: {
    decoder: (isStopSequence, note) => new WireAStreamDecoder({ isStopSequence, note }),
    encoder: (label) => new WireAStreamEncoder(label),
    relay: (label, note) => new WireAStreamRelay(label, note),
  },
  errorBody,
  authHeader: (key) => ["authorization", `Bearer ${key}`],
  keyCheck: { path: "/models", headers: {} },
};
