import type { Deployment } from "../../../catalog/index.ts";
import type { ModelNames, RequestId } from "../../../kernel/index.ts";
import { type AnswerBridge, ServedModelNote } from "../../wire/answer/answer-bridge.ts";
import type { ReadAnswer } from "../../wire/failure/failures.ts";
import {
  type AnswerJson,
  type AnswerLabel,
  parseObject,
  type ReadyAnswer,
} from "../../wire/neutral/chat-answer.ts";
import type { ChatCall } from "../../wire/neutral/chat-call.ts";
import { signedId } from "../../wire/neutral/tool-calls.ts";
import { JsonBridge } from "../../wire/answer/json-bridge.ts";
import { StreamBridge } from "../../wire/answer/stream-bridge.ts";
import { StreamTranslation } from "../../wire/answer/stream-driver.ts";
import type { Wire } from "../../wire/contract.ts";
import type { ParsedChatRequest } from "./parse-request.ts";

export interface OpenChatAnswer {
  readonly request: Pick<
    ParsedChatRequest,
    | "wire"
    | "stream"
    | "body"
    | "wantsUsageChunk"
    | "usesFunctions"
    | "namesTool"
    | "countInputTokens"
    | "decoded"
  >;
  readonly deployment: ModelNames & Pick<Deployment, "modelId" | "wireProfile">;
  readonly upstream: Wire;
  readonly requestId: RequestId;
  readonly createdSeconds: number;
}

/** Returns a relay if client and provider use the same wire, else a translation. */
export function openChatAnswer(open: OpenChatAnswer): AnswerBridge {
  return open.request.stream ? openStream(open) : openJson(open);
}

function openStream(open: OpenChatAnswer): AnswerBridge {
  const { request, upstream } = open;
  const { wire } = request;
  const label = toAnswerLabel(open);
  const note = new ServedModelNote(open.deployment);
  const { wireProfile: reading } = open.deployment;
  if (upstream === wire) return new StreamBridge(wire.streams.relay(label, note, reading), note);
  const decoder = upstream.streams.decoder(stopSequences(request.body), note, reading);
  return new StreamBridge(new StreamTranslation(decoder, wire.streams.encoder(label)), note);
}

function openJson(open: OpenChatAnswer): AnswerBridge {
  const { wire } = open.request;
  return new JsonBridge({
    note: new ServedModelNote(open.deployment),
    read: (json) =>
      open.upstream === wire
        ? wire.answers.relay(json, toAnswerLabel(open), open.deployment.wireProfile)
        : translated(json, open),
    renderError: (refusal) => wire.errorBody(refusal, open.requestId),
  });
}

function translated(json: AnswerJson, open: OpenChatAnswer): ReadAnswer<ReadyAnswer> {
  const { request, upstream, deployment } = open;
  const isStopSequence = stopSequences(request.body);
  const read = upstream.answers.read(json, isStopSequence, deployment.wireProfile);
  if (!read.ok) return read;
  const { answer, report, hasWrongFinish } = read;
  const bodyText = (costUsd: string): string =>
    request.wire.answers.write(answer, toAnswerLabel(open), { report, costUsd });
  return { ok: true, report, bodyText, finishReason: answer.finish, hasWrongFinish };
}

function toAnswerLabel(open: OpenChatAnswer): AnswerLabel {
  return {
    idTail: open.requestId.replaceAll("-", ""),
    modelId: open.deployment.modelId,
    createdSeconds: open.createdSeconds,
    wantsUsageChunk: open.request.wantsUsageChunk,
    usesFunctions: open.request.usesFunctions,
    namesTool: open.request.namesTool,
    countInputTokens: () => open.request.countInputTokens(),
    listUsedIds: () => listCallIds(open.request.decoded().call),
  };
}

function listCallIds({ messages }: ChatCall): readonly string[] {
  return messages.flatMap((message) =>
    message.role === "assistant"
      ? message.parts.flatMap((part) => (part.kind === "call" ? [signedId(part.call)] : []))
      : [],
  );
}

/** The returned function parses the request at its first call; most answers never need a call. */
function stopSequences(body: Buffer): (word: string) => boolean {
  let words: ReadonlySet<unknown> | undefined;
  return (word) => {
    if (words === undefined) {
      const fields = parseObject(body.toString("utf8"))?.value;
      const given = fields?.["stop_sequences"] ?? fields?.["stop"];
      words = new Set(Array.isArray(given) ? given : [given]);
    }
    return words.has(word);
  };
}
