import {
  asObject,
  compactJson,
  findPath,
  JsonBudget,
  type Span,
  textOf,
  tryParse,
  tryPrint,
} from "../../../kernel/index.ts";
import { classifyEmbeddedError } from "../failure/classify-failure.ts";
import {
  unblamedFailure,
  unusableFailure,
  failedRead,
  type FailedRead,
  type ReadAnswer,
} from "../failure/failures.ts";
import type { AnswerReading } from "../neutral/provider-answer.ts";
import type {
  AnswerCodec,
  AnswerJson,
  AnswerLabel,
  ReadyAnswer,
  ToolCall,
} from "../neutral/chat-answer.ts";
import { settledFinish } from "../neutral/chat-event.ts";
import { relayText, rootSpan, withNeeded, withoutCostDetails } from "../neutral/relayed-text.ts";
import { answerCallIds, signedId, type UniqueIds } from "../neutral/tool-calls.ts";
import {
  answerTexts,
  clientWord,
  containsCalls,
  findHeld,
  isCutWord,
  isFailureWord,
  isWrongWord,
  toReason,
  withChoiceMember,
  withOneChoice,
  withPlainContent,
  toWord,
} from "./chunks.ts";
import type { Fields } from "../neutral/usage-report.ts";
import { callsIn, readSignature, withWholeCalls } from "./tool-calls.ts";
import { findChoice, firstChoice, readUsage, usageJson, withCounts } from "./usage.ts";

export const openaiChatAnswers: AnswerCodec = {
  relay(json, label, reading) {
    const choice = usableChoice(json);
    if (choice === undefined) return UNUSABLE;
    return failureInChoice(json, choice) ?? relayed(json, choice, label, reading);
  },

  read(json, isStopSequence, reading = {}) {
    const choice = usableChoice(json);
    if (choice === undefined) return UNUSABLE;
    const failure = failureInChoice(json, choice);
    if (failure !== undefined) return failure;
    const message = asObject(choice["message"]) ?? {};
    const refusal = textOf(message["refusal"]);
    const reason = refusal === "" ? toReason(textOf(choice["finish_reason"])) : "refusal";
    const isCut = reason === "length" || reason === "refusal";
    const calls = readCalls(json, message["tool_calls"], { ...reading, isCut });
    if (calls === undefined) return UNUSABLE_CALLS;
    const { text, reasoning } = answerTexts(message);
    const hasWrongFinish = isWrongWord(textOf(choice["finish_reason"]), containsCalls(message));
    const answer = { text: text + refusal, reasoning, calls };
    const stopSequence = textOf(choice["stop_reason"]);
    const finish = settledFinish(reason, calls.length > 0);
    const report = readUsage(json.value, json.text, reading);
    const isStopped = finish === "stop" && stopSequence !== "" && isStopSequence(stopSequence);
    const end = isStopped ? ({ finish: "stop_sequence", stopSequence } as const) : { finish };
    return { ok: true, answer: { ...answer, ...end }, report, hasWrongFinish };
  },

  write(answer, label, { report, costUsd }) {
    const ids = answerCallIds(label);
    const content = answer.text === "" ? "null" : JSON.stringify(answer.text);
    const reasoning =
      answer.reasoning === "" ? "" : `,"reasoning_content":${JSON.stringify(answer.reasoning)}`;
    const calls = label.usesFunctions
      ? functionCallMember(answer.calls)
      : toolCallsMember(answer.calls, ids);
    const message = `{"role":"assistant","content":${content},"refusal":null${reasoning}${calls}}`;
    const finish = settledFinish(answer.finish, answer.calls.length > 0);
    const word = toWord(finish, label.usesFunctions);
    return (
      `{"id":"chatcmpl-${label.idTail}","object":"chat.completion",` +
      `"created":${label.createdSeconds},"model":${JSON.stringify(label.modelId)},` +
      `"choices":[{"index":0,"message":${message},"logprobs":null,"finish_reason":"${word}"}],` +
      `"system_fingerprint":null,"usage":${usageJson(report?.usage, costUsd)}}`
    );
  },
};

const UNUSABLE = failedRead(unusableFailure());
/** The model wrote invalid calls, which a prompt can ask for. */
const UNUSABLE_CALLS = failedRead(unblamedFailure());

/** The first choice, if it has a message, an error, or a finish reason that reports a failure. */
function usableChoice(json: AnswerJson): Fields | undefined {
  const choice = firstChoice(json.value);
  const isAnswer = asObject(choice?.["message"]) !== undefined || !!choice?.["error"];
  return isAnswer || isFailureWord(choice?.["finish_reason"]) ? choice : undefined;
}

function failureInChoice(json: AnswerJson, choice: Fields): FailedRead | undefined {
  const isOwn = asObject(choice["error"]) !== undefined;
  if (!isOwn && !isFailureWord(choice["finish_reason"])) return undefined;
  return failedRead(classifyEmbeddedError(isOwn ? choice : json.value));
}

/**
 * Undefined if a call has no name, or arguments that are no JSON object. The last call of a cut
 * answer gets `{}` instead, because the finish reason tells the client about the cut.
 */
function readCalls(
  { text }: AnswerJson,
  value: unknown,
  { toolSignature, isCut }: AnswerReading & { readonly isCut: boolean },
): ToolCall[] | undefined {
  if (!Array.isArray(value)) return [];
  const calls: ToolCall[] = [];
  const budget = new JsonBudget();
  for (const [at, entry] of callsIn(text, "message", value).entries()) {
    const fields = asObject(entry);
    const fn = asObject(fields?.["function"]);
    const cutShort = isCut && at === value.length - 1 ? "{}" : undefined;
    const argumentsJson = normalizeArguments(fn?.["arguments"], budget) ?? cutShort;
    const name = textOf(fn?.["name"]);
    if (argumentsJson === undefined || name === "") return undefined;
    const id = textOf(fields?.["id"]);
    const signature = toolSignature === undefined ? "" : readSignature(fields ?? {});
    const carried = signature === "" ? id : signedId({ id, signature });
    calls.push({ id: carried, name, argumentsJson });
  }
  return calls;
}

function normalizeArguments(value: unknown, budget: JsonBudget): string | undefined {
  if (value === undefined || value === null || value === "") return "{}";
  const text = typeof value === "string" ? value : tryPrint(value);
  if (text === undefined) return undefined;
  return asObject(tryParse(text, budget)?.value) === undefined ? undefined : compactJson(text);
}

function toolCallsMember(calls: readonly ToolCall[], ids: UniqueIds): string {
  if (calls.length === 0) return "";
  const list = calls.map(({ id, name, argumentsJson }) => ({
    id: ids.take(id),
    type: "function",
    function: { name, arguments: argumentsJson },
  }));
  return `,"tool_calls":${JSON.stringify(list)}`;
}

/** A client that sent `functions` gets one call; the provider was asked for no more. */
function functionCallMember([call]: readonly ToolCall[]): string {
  if (call === undefined) return "";
  const { name, argumentsJson } = call;
  return `,"function_call":${JSON.stringify({ name, arguments: argumentsJson })}`;
}

function relayed(
  json: AnswerJson,
  choice: Fields,
  label: AnswerLabel,
  reading: AnswerReading | undefined,
): ReadAnswer<ReadyAnswer> {
  const report = readUsage(json.value, json.text, reading);
  const { choices, usage } = json.value;
  const message = asObject(choice["message"]) ?? {};
  const hasCalls = containsCalls(message);
  const { finish_reason: finish } = choice;
  // An answer without a finish reason gets one, as at the end of a stream.
  const word = clientWord(textOf(finish), hasCalls, label);
  let text = withoutCostDetails(json.text, usage, "usage");
  const ofCalls = { idTail: label.idTail, isCut: isCutWord(textOf(finish)) };
  text = withOneChoice(withWholeCalls(text, message["tool_calls"], ofCalls), choices);
  text = withPlainContent(text, "message", message);
  text = withNeeded(text, findMessage, message, { role: '"assistant"' });
  text = withNeeded(text, findChoice, choice, { index: "0" });
  if (word !== finish) text = withChoiceMember(text, "finish_reason", JSON.stringify(word));
  text = withNeeded(text, rootSpan, json.value, {
    id: `"chatcmpl-${label.idTail}"`,
    object: '"chat.completion"',
    created: String(label.createdSeconds),
  });
  const counted = asObject(usage);
  if (counted) text = withCounts(text, findUsage, counted, report?.usage);
  const relay = relayText(text, label.modelId);
  return {
    ok: true,
    report,
    hasWrongFinish: isWrongWord(textOf(finish), hasCalls),
    finishReason: toReason(textOf(finish)),
    bodyText: (costUsd) => relay({ costUsd, missing: usageJson(report?.usage, costUsd) }),
  };
}

const findMessage = (text: string): Span | undefined => findHeld(text, "message");
const findUsage = (text: string): Span | undefined => findPath(text, "usage");
