import type { WireId } from "../../catalog/catalog.ts";
import type { AnswerBridge } from "../../wire/answer/answer-bridge.ts";
import {
  isFailure,
  type AnswerCodec,
  type AnswerReader,
  type AnswerLabel,
} from "../../wire/neutral/chat-answer.ts";
import type { ChatRequest } from "../../wire/chat-request.ts";
import type { OpenAnswer } from "../../wire/chat-wire.ts";
import { JsonBridge } from "../../wire/answer/json-bridge.ts";
import { asObject, tryParse } from "../../json/json-edit.ts";
import { ServedModelNote } from "../../wire/neutral/served-model-note.ts";
import { StreamBridge } from "../../wire/answer/stream-bridge.ts";
import type {
  StreamDecoder,
  StreamDriver,
  StreamEncoder,
} from "../../wire/answer/stream-driver.ts";
import { StreamTranslation } from "../../wire/answer/stream-translation.ts";
import { renderErrorBody } from "../../wire/error-body.ts";
import { wireAAnswers } from "../../wire/openai-chat/answer-json.ts";
import { WireAStreamDecoder } from "../../wire/openai-chat/stream-decoder.ts";
import { WireAStreamEncoder } from "../../wire/openai-chat/stream-encoder.ts";
import { WireAStreamRelay } from "../../wire/openai-chat/stream-relay.ts";
import { wireBAnswers } from "../../wire/anthropic-messages/answer-json.ts";
import { WireBStreamDecoder } from "../../wire/anthropic-messages/stream-decoder.ts";
import { WireBStreamEncoder } from "../../wire/anthropic-messages/stream-encoder.ts";
import { WireBStreamRelay } from "../../wire/anthropic-messages/stream-relay.ts";

/** The bridge for a provider's 2xx: relay or translation, stream or JSON. */
export function openAnswer(open: OpenAnswer): AnswerBridge {
  return open.request.stream ? openStream(open) : openJson(open);
}

/** The answer half of a chat wire. */
interface AnswerWire {
  readonly answers: AnswerCodec;
  decoder(isStopSequence: (word: string) => boolean, note: ServedModelNote): StreamDecoder;
  encoder(label: AnswerLabel): StreamEncoder;
  relay(label: AnswerLabel, note: ServedModelNote): StreamDriver;
}

const WIRES: Readonly<Record<WireId, AnswerWire>> = {
  wire_a: {
    answers: wireAAnswers,
    decoder: (isStopSequence, note) => new WireAStreamDecoder({ isStopSequence, note }),
    encoder: (label) => new WireAStreamEncoder(label),
    relay: (label, note) => new WireAStreamRelay(label, note),
  },
  wire_b: {
    answers: wireBAnswers,
    decoder: (_isStopSequence, note) => new WireBStreamDecoder(note),
    encoder: (label) => new WireBStreamEncoder(label),
    relay: (label, note) => new WireBStreamRelay(label, note),
  },
};

function openStream(open: OpenAnswer): AnswerBridge {
  const label = labelOf(open);
  const client = WIRES[open.request.wire];
  const note = new ServedModelNote(open.deployment);
  if (isSameWire(open)) return new StreamBridge(client.relay(label, note), note);
  const decoder = WIRES[open.deployment.wire].decoder(stopSequences(open.request), note);
  return new StreamBridge(new StreamTranslation(decoder, client.encoder(label)), note);
}

function openJson(open: OpenAnswer): AnswerBridge {
  const { wire } = open.request;
  return new JsonBridge({
    note: new ServedModelNote(open.deployment),
    read: isSameWire(open) ? relayReader(open) : translatingReader(open),
    renderError: (refusal) => renderErrorBody(wire, refusal, open.requestId),
  });
}

function relayReader(open: OpenAnswer): AnswerReader {
  const { answers } = WIRES[open.request.wire];
  return (json) => answers.relay(json, labelOf(open));
}

function translatingReader(open: OpenAnswer): AnswerReader {
  const upstream = WIRES[open.deployment.wire].answers;
  const client = WIRES[open.request.wire].answers;
  return (json) => {
    const read = upstream.read(json, stopSequences(open.request));
    if (isFailure(read)) return read;
    const { answer, report } = read;
    return {
      report,
      bodyText: (costUsd) => client.write(answer, labelOf(open), { report, costUsd }),
    };
  };
}

function isSameWire(open: OpenAnswer): boolean {
  return open.request.wire === open.deployment.wire;
}

function labelOf(open: OpenAnswer): AnswerLabel {
  return {
    idTail: open.requestId.replaceAll("-", ""),
    modelId: open.deployment.modelId,
    createdSeconds: open.createdSeconds,
    wantsUsageChunk: open.request.wantsUsageChunk,
    usesFunctions: open.request.usesFunctions,
    countInputTokens: () => open.request.countInputTokens(),
  };
}

/**
 * Only a word that the caller gave as a stop sequence is reported as one. The body is parsed on
 * the first question, which few answers ask.
 */
function stopSequences(request: ChatRequest): (word: string) => boolean {
  let words: ReadonlySet<unknown> | undefined;
  return (word) => {
    words ??= readStopSequences(request.body);
    return words.has(word);
  };
}

function readStopSequences(body: Buffer): ReadonlySet<unknown> {
  const fields = asObject(tryParse(body.toString("utf8"))?.value);
  const given = fields?.["stop_sequences"] ?? fields?.["stop"];
  return new Set(Array.isArray(given) ? given : [given]);
}
