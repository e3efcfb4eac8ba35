import {
  arrayText,
  isBlankToken,
  type JsonText,
  objectText,
  textBytes,
  textToken,
  tokenText,
} from "../../../kernel/index.ts";
import type { EncodeTarget } from "../contract.ts";
import { boundFor } from "../fields/common-fields.ts";
import {
  allSystemTexts,
  type AssistantPart,
  type ChatCall,
  effortFor,
  type Message,
  type ToolCall,
  type ToolResult,
  type ToolSpec,
} from "../neutral/chat-call.ts";
import { EMPTY_SCHEMA, HistoryIds } from "../neutral/tool-calls.ts";
import { profiledMembers } from "../wire-profile.ts";

export function encodeCall(call: ChatCall, { request, deployment }: EncodeTarget): Buffer {
  // The top of the body is the only place that all wire_b servers accept.
  const system = allSystemTexts(call);
  const effort = effortFor(call, deployment);
  const tools = call.tools.length > 0 ? call.tools : toolsOfHistory(call.messages);
  const members = {
    model: textToken(deployment.upstreamModelId),
    max_tokens: String(boundFor(request, deployment)),
    system: system.length > 0 ? arrayText(system.map(textBlock)) : undefined,
    messages: arrayText(messageTexts(call.messages)),
    stream: request.stream ? "true" : undefined,
    temperature: call.temperature,
    top_p: call.topP,
    stop_sequences: call.stops.length > 0 ? arrayText(call.stops) : undefined,
    tools: tools.length > 0 ? arrayText(tools.map(toolText)) : undefined,
    tool_choice: tools.length > 0 ? toolChoiceText(call) : undefined,
    output_config: effort && objectText({ effort }),
    metadata: call.userId && objectText({ user_id: call.userId }),
  };
  return textBytes(objectText(profiledMembers(members, deployment)));
}

function messageTexts(messages: readonly Message[]): readonly JsonText[] {
  const texts: JsonText[] = [];
  const ids = new HistoryIds();
  for (const [index, message] of messages.entries()) {
    if (message.role === "user") {
      const content = contentText(
        message.results.map((result) => resultBlock(result, ids)),
        message.texts,
      );
      texts.push(objectText({ role: '"user"', content }));
    } else if (message.role === "assistant") {
      const parts = index === messages.length - 1 ? trimmedPrefill(message.parts) : message.parts;
      const content = assistantContent(parts, ids);
      texts.push(objectText({ role: '"assistant"', content }));
    }
  }
  return texts;
}

function contentText(blocks: readonly JsonText[], texts: readonly JsonText[]): JsonText {
  const [first] = texts;
  if (blocks.length === 0 && texts.length === 1 && first !== undefined) return first;
  return arrayText([...blocks, ...texts.map(textBlock)]);
}

function assistantContent(parts: readonly AssistantPart[], ids: HistoryIds): JsonText {
  ids.begin();
  const [first] = parts;
  if (parts.length === 1 && first?.kind === "text") return first.text;
  return arrayText(
    parts.map((part) => (part.kind === "text" ? textBlock(part.text) : callBlock(part.call, ids))),
  );
}

/** wire_b continues an assistant message that comes last, and refuses white space at its end. */
function trimmedPrefill(parts: readonly AssistantPart[]): readonly AssistantPart[] {
  const last = parts.at(-1);
  if (last?.kind !== "text") return parts;
  const text = textToken(tokenText(last.text).trimEnd());
  const kept = parts.slice(0, -1);
  return isBlankToken(text) ? kept : [...kept, { kind: "text", text }];
}

function textBlock(text: JsonText): JsonText {
  return `{"type":"text","text":${text}}` as JsonText;
}

function callBlock(call: ToolCall, ids: HistoryIds): JsonText {
  const id = textToken(ids.callId(call.id));
  return objectText({ type: '"tool_use"', id, name: call.name, input: call.input });
}

function resultBlock(result: ToolResult, ids: HistoryIds): JsonText {
  return objectText({
    type: '"tool_result"',
    tool_use_id: textToken(ids.resultId(result.callId)),
    content: result.texts.length > 0 ? contentText([], result.texts) : undefined,
  });
}

function toolText({ name, description, schema }: ToolSpec): JsonText {
  return objectText({ name, description, input_schema: schema });
}

/** wire_b requires a definition of each tool in the history, even if none is offered now. */
function toolsOfHistory(messages: readonly Message[]): readonly ToolSpec[] {
  const names = new Set<JsonText>();
  for (const message of messages) {
    if (message.role !== "assistant") continue;
    for (const part of message.parts) if (part.kind === "call") names.add(part.call.name);
  }
  return [...names].map((name) => ({ name, description: undefined, schema: EMPTY_SCHEMA }));
}

function toolChoiceText(call: ChatCall): JsonText | undefined {
  if (call.tools.length === 0) return objectText({ type: '"none"' });
  const choice = call.toolChoice ?? (call.parallelTools ? undefined : { kind: "auto" });
  if (choice === undefined) return undefined;
  return objectText({
    type: `"${choice.kind}"`,
    name: choice.kind === "tool" ? choice.name : undefined,
    disable_parallel_tool_use: call.parallelTools || choice.kind === "none" ? undefined : "true",
  });
}
