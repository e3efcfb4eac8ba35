import type { Refusal } from "../../src/kernel/core/refusals.ts";
import { ZERO_USAGE, type Usage } from "../../src/kernel/core/usage.ts";
import { textOf } from "../../src/kernel/json/json-edit.ts";
import { joinTokens, objectText, textBytes, textToken } from "../../src/kernel/json/json-text.ts";
import {
  type OutputPieces,
  readEventText,
  sseDataText,
  type SseEvent,
} from "../../src/formats/wire/sse/sse.ts";
import {
  type StreamDecoder,
  type StreamEncoder,
  StreamTranslation,
} from "../../src/formats/wire/answer/stream-driver.ts";
import type { RequestCodec, Wire } from "../../src/formats/wire/contract.ts";
import {
  brokenOffFailure,
  unusableFailure,
  failedRead,
} from "../../src/formats/wire/failure/failures.ts";
import { word } from "../../src/formats/wire/fields/chat-vocabulary.ts";
import {
  anything,
  isBoolean,
  isFilledText,
  isInteger,
  optional,
  shape,
} from "../../src/formats/wire/fields/check-shape.ts";
import { type AnswerCodec, parseObject } from "../../src/formats/wire/neutral/chat-answer.ts";
import type { ChatEvent } from "../../src/formats/wire/neutral/chat-event.ts";
import { asCount, type UsageReport } from "../../src/formats/wire/neutral/usage-report.ts";

/**
 * A third chat wire, as small as one can be: a request is a text, and so is an answer. All of it is
 * in this file: if a wire needed changes elsewhere, that would be a fault of the program.
 */
const requests: RequestCodec = {
  path: "/plain",
  temperatureMax: 2,
  userField: "user",
  parallelField: "parallel_tool_calls",
  hasSystemMember: false,
  checkBody: shape(
    {
      model: isFilledText,
      text: isFilledText,
      stream: optional(isBoolean),
      max_tokens: optional(isInteger),
      provider: anything,
    },
    { required: ["model", "text"] },
  ),
  renderPath: (path) => path.join("/"),
  findMedia: () => undefined,
  decodeCall: (doc) => ({
    system: [],
    messages: [{ role: "user", results: [], texts: [doc.raw(doc.member(0, word.text))] }],
    tools: [],
    toolChoice: undefined,
    parallelTools: true,
    stops: [],
    temperature: undefined,
    topP: undefined,
    effort: undefined,
    userId: undefined,
  }),
  encodeCall: ({ messages }, { request, deployment }) => {
    const texts = messages.flatMap((message) => (message.role === "user" ? message.texts : []));
    const members = {
      model: textToken(deployment.upstreamModelId),
      text: joinTokens(texts, "\n"),
      max_tokens: String(request.outputTokens),
      stream: String(request.stream),
    };
    return textBytes(objectText(members));
  },
  surplusBounds: () => [],
  editBody: () => undefined,
  countsHourWrites: false,
  isUsualPrice: () => true,
  isClientTool: () => true,
  countTokens: (doc) => doc.body.length,
  headers: () => ({ "content-type": "application/json", "x-plain-version": "1" }),
};

/** Answers have the form `{"text":"…","tokens":[input,output]}`. */
const answers: AnswerCodec = {
  relay(json, label) {
    const read = answers.read(json, () => false);
    if (!read.ok) return read;
    const { answer, report } = read;
    const bodyText = (costUsd: string): string => answers.write(answer, label, { report, costUsd });
    return { ok: true, report, bodyText };
  },
  read({ value }) {
    if (typeof value["text"] !== "string") return failedRead(unusableFailure());
    const answer = { text: value["text"], reasoning: "", calls: [], finish: "stop" } as const;
    return { ok: true, answer, report: { usage: usageOf(value["tokens"]) } };
  },
  write: ({ text }, { modelId }, { report, costUsd }) =>
    `{"text":${JSON.stringify(text)},"model":"${modelId}",${closing(report, costUsd)}}`,
};

class PlainDecoder implements StreamDecoder {
  readonly hasWrongFinish = false;
  report: UsageReport | undefined;

  decode(event: SseEvent, emit: (event: ChatEvent) => void): void {
    const value = parseObject(readEventText(event.data))?.value;
    if (value === undefined) return emit({ type: "failure", failure: unusableFailure() });
    if (value["text"] !== undefined) return emit({ type: "text", text: textOf(value["text"]) });
    this.report = { usage: usageOf(value["tokens"]) };
    emit({ type: "finish", reason: "stop" });
    emit({ type: "end" });
  }

  endOfBody(emit: (event: ChatEvent) => void): void {
    emit({ type: "failure", failure: brokenOffFailure() });
  }
}

const encoder: StreamEncoder = {
  keepAliveText: sseDataText("{}"),
  encode(event: ChatEvent, out: OutputPieces): void {
    if (event.type === "text") out.add(sseDataText(JSON.stringify({ text: event.text })));
  },
  finishText: (report, costUsd) => sseDataText(`{${closing(report, costUsd)}}`),
  failText: (refusal) => sseDataText(JSON.stringify({ problem: refusal.class })),
};

function closing(report: UsageReport | undefined, costUsd: string): string {
  const { prompt, completion } = report?.usage ?? ZERO_USAGE;
  return `"tokens":[${prompt},${completion}],"cost":${costUsd}`;
}

function usageOf(tokens: unknown): Usage {
  const [prompt, completion] = Array.isArray(tokens) ? (tokens as readonly unknown[]) : [];
  return { ...ZERO_USAGE, prompt: asCount(prompt) ?? 0, completion: asCount(completion) ?? 0 };
}

export const plainWire: Wire = {
  id: "wire_plain",
  clientPath: "/v1/plain",
  dryRunName: "plain",
  requests,
  answers,
  streams: {
    decoder: () => new PlainDecoder(),
    encoder: () => encoder,
    relay: () => new StreamTranslation(new PlainDecoder(), encoder),
  },
  errorBody: ({ class: problem, message }: Refusal) => JSON.stringify({ problem, message }),
  authHeader: (key) => ["x-plain-key", key],
  keyCheck: { path: "/plain/models", headers: {} },
};
