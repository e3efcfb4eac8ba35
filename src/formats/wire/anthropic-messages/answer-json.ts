import { asObject, findElements, findMember, findPath, textOf } from "../../../kernel/index.ts";
import { unusableFailure, withoutBlame, failedRead, type ReadAnswer } from "../failure/failures.ts";
import type {
  AnswerCodec,
  AnswerJson,
  AnswerLabel,
  ReadyAnswer,
  ToolCall,
} from "../neutral/chat-answer.ts";
import { settledFinish } from "../neutral/chat-event.ts";
import {
  compactObject,
  relayText,
  rootSpan,
  withNeeded,
  withoutCostDetails,
  withRootMember,
} from "../neutral/relayed-text.ts";
import { answeredToolId, answerToolIds, type UniqueIds } from "../neutral/tool-calls.ts";
import { type Fields, readReportedCost, type UsageReport } from "../neutral/usage-report.ts";
import {
  ABSENT_MEMBERS,
  clientWord,
  isCall,
  isClientCall,
  isWrongWord,
  neededInMessage,
  toReason,
  toWord,
} from "./events.ts";
import { mergeCounts, toUsageReport, usageJson, withCounts } from "./usage.ts";

export const anthropicMessagesAnswers: AnswerCodec = {
  relay(json, label) {
    const blocks = readBlocks(json);
    return blocks === undefined ? UNUSABLE : relayed(json, blocks, label);
  },

  read(json) {
    const blocks = readBlocks(json);
    if (blocks === undefined) return UNUSABLE;
    // At least one block must be of a known kind. Blocks of other kinds are left out.
    const isExpressible = blocks.some((block) => KNOWN_BLOCKS.has(block?.["type"]));
    if (blocks.length > 0 && !isExpressible) return INEXPRESSIBLE;
    const calls = readCalls(json, blocks);
    const stopSequence = textOf(json.value["stop_sequence"]);
    const answer = {
      text: joined(blocks, "text"),
      reasoning: joined(blocks, "thinking"),
      calls,
      finish: settledFinish(toReason(textOf(json.value["stop_reason"])), calls.length > 0),
      ...(stopSequence === "" ? {} : { stopSequence }),
    };
    const report = readReport(json);
    return { ok: true, answer, report, hasWrongFinish: hasWrongFinish(json, blocks) };
  },

  write(answer, label, { report, costUsd }) {
    const ids = answerToolIds(label);
    // A blank text is left out, because wire_b refuses it when it comes back in the history.
    const isBlank = answer.text.trim() === "";
    const text = isBlank ? [] : [JSON.stringify({ type: "text", text: answer.text })];
    const content = [...text, ...answer.calls.map((call) => toolUseJson(call, ids))].join(",");
    const reason = settledFinish(answer.finish, answer.calls.length > 0);
    const sequence = reason === "stop_sequence" ? (answer.stopSequence ?? null) : null;
    return (
      `{"id":"msg_${label.idTail}","type":"message","role":"assistant",` +
      `"model":${JSON.stringify(label.modelId)},"content":[${content}],` +
      `"stop_reason":"${toWord(reason)}","stop_sequence":${JSON.stringify(sequence)},${ABSENT_MEMBERS},` +
      `"usage":${usageJson(report?.usage, costUsd)}}`
    );
  },
};

const UNUSABLE = failedRead(unusableFailure());
/** The client's wire cannot express the answer, which does not count as a breach of the listing. */
const INEXPRESSIBLE = failedRead(withoutBlame(unusableFailure()));

type Blocks = readonly (Fields | undefined)[];

function readBlocks(json: AnswerJson): Blocks | undefined {
  const { content } = json.value;
  return Array.isArray(content) ? content.map(asObject) : undefined;
}

const KNOWN_BLOCKS: ReadonlySet<unknown> = new Set([
  "text",
  "tool_use",
  "thinking",
  "redacted_thinking",
]);

function joined(blocks: Blocks, kind: "text" | "thinking"): string {
  return blocks.map((block) => (block?.["type"] === kind ? textOf(block[kind]) : "")).join("");
}

function readCalls(json: AnswerJson, blocks: Blocks): ToolCall[] {
  const array = findPath(json.text, "content");
  if (array === undefined) return [];
  const spans = findElements(json.text, array.start);
  return blocks.flatMap((block, index) => {
    const span = spans[index];
    if (block?.["type"] !== "tool_use" || span === undefined) return [];
    const input = findMember(json.text, span.start, "input");
    const argumentsJson = compactObject(json.text, input);
    return [{ id: textOf(block["id"]), name: textOf(block["name"]), argumentsJson }];
  });
}

function hasWrongFinish(json: AnswerJson, blocks: Blocks): boolean {
  return isWrongWord(textOf(json.value["stop_reason"]), blocks.some(isCall));
}

function readReport(json: AnswerJson): UsageReport | undefined {
  return toUsageReport(mergeCounts({}, json.value["usage"]), readReportedCost(json.text));
}

function toolUseJson(call: ToolCall, ids: UniqueIds): string {
  const id = JSON.stringify(ids.take(answeredToolId(call.id)));
  const name = JSON.stringify(call.name);
  return `{"type":"tool_use","id":${id},"name":${name},"input":${call.argumentsJson}}`;
}

function relayed(json: AnswerJson, blocks: Blocks, label: AnswerLabel): ReadAnswer<ReadyAnswer> {
  const report = readReport(json);
  const { stop_reason: stopReason, usage } = json.value;
  const hasClientCalls = blocks.some(isClientCall);
  const word = clientWord(textOf(stopReason), { hasCalls: blocks.some(isCall), hasClientCalls });
  let text = withoutCostDetails(json.text, usage, "usage");
  text = withNeeded(text, rootSpan, json.value, neededInMessage(label.idTail));
  text = withCounts(text, usage, ["usage"], report?.usage);
  const isMended = typeof stopReason === "string" && word !== stopReason;
  if (isMended) text = withRootMember(text, "stop_reason", JSON.stringify(word));
  const relay = relayText(text, label.modelId);
  return {
    ok: true,
    report,
    hasWrongFinish: hasWrongFinish(json, blocks),
    finishReason: toReason(textOf(stopReason)),
    bodyText: (costUsd) => relay({ costUsd, missing: usageJson(report?.usage, costUsd) }),
  };
}
