import type { Deployment } from "../../../catalog/index.ts";
import {
  unreachable,
  arrayText,
  joinTokens,
  type JsonText,
  objectText,
  quoteText,
  textBytes,
  textToken,
} from "../../../kernel/index.ts";
import type { EncodeTarget } from "../contract.ts";
import { boundFor, outputBoundName } from "../fields/common-fields.ts";
import {
  allSystemTexts,
  type AssistantMessage,
  type ChatCall,
  effortFor,
  type Message,
  type ToolCall,
  type ToolChoice,
  type ToolResult,
  type ToolSpec,
} from "../neutral/chat-call.ts";
import { aggregatorControls, profiledMembers } from "../wire-profile.ts";
import { signatureJson, PLACEHOLDER_SIGNATURE } from "./tool-calls.ts";

/** Writes a translated call with few fields, because strict servers refuse unknown ones. */
export function encodeCall(call: ChatCall, { request, deployment }: EncodeTarget): Buffer {
  const hasTools = call.tools.length > 0;
  const members = {
    model: textToken(deployment.upstreamModelId),
    messages: arrayText(messageTexts(call, deployment.wireProfile)),
    [outputBoundName(deployment)]: String(boundFor(request, deployment)),
    stream: request.stream ? "true" : undefined,
    stream_options: request.stream ? '{"include_usage":true}' : undefined,
    temperature: call.temperature,
    top_p: call.topP,
    stop: call.stops.length > 0 ? arrayText(call.stops) : undefined,
    tools: hasTools ? arrayText(call.tools.map(toolText)) : undefined,
    tool_choice: hasTools && call.toolChoice ? toolChoiceText(call.toolChoice) : undefined,
    parallel_tool_calls: hasTools && !call.parallelTools ? "false" : undefined,
    reasoning_effort: effortFor(call, deployment),
    user: call.userId,
    provider: aggregatorControls(request.doc, deployment),
  };
  return textBytes(objectText(profiledMembers(members, deployment)));
}

type Profile = Deployment["wireProfile"];

function messageTexts(call: ChatCall, profile: Profile): readonly JsonText[] {
  const isFirst = profile?.history.has("system-first") === true;
  const system = isFirst ? allSystemTexts(call) : call.system;
  const messages = call.messages.flatMap((message) =>
    isFirst && message.role === "system" ? [] : wireMessages(message, profile),
  );
  if (system.length === 0) return messages;
  return [messageText("system", joinTokens(system, "\\n\\n")), ...messages];
}

function wireMessages(message: Message, profile: Profile): readonly JsonText[] {
  switch (message.role) {
    case "system":
      return [messageText("system", message.text)];
    case "user": {
      // Tool results must directly follow the assistant's calls.
      const results = message.results.map(resultText);
      if (message.texts.length === 0 && results.length > 0) return results;
      return [...results, messageText("user", userContent(message.texts, profile))];
    }
    case "assistant":
      return [assistantText(message, profile)];
    default:
      return unreachable(message);
  }
}

function messageText(role: string, content: JsonText): JsonText {
  return `{"role":"${role}","content":${content}}` as JsonText;
}

function userContent(texts: readonly JsonText[], profile: Profile): JsonText {
  if (texts.length <= 1) return texts[0] ?? ('""' as JsonText);
  if (profile?.history.has("text-only-content") === true) return joinTokens(texts, "\\n");
  return arrayText(texts.map((text) => `{"type":"text","text":${text}}`));
}

function resultText(result: ToolResult): JsonText {
  return objectText({
    role: '"tool"',
    tool_call_id: textToken(result.callId),
    content: joinTokens(result.texts, "\\n"),
  });
}

/** An assistant message of this wire has one text, then its calls, whatever their order was. */
function assistantText(message: AssistantMessage, profile: Profile): JsonText {
  const texts: JsonText[] = [];
  const calls: JsonText[] = [];
  for (const part of message.parts) {
    if (part.kind === "text") texts.push(part.text);
    else calls.push(callText(part.call, signatureFor(part.call, calls.length, profile)));
  }
  const noText = profile?.history.has("no-null") === true ? undefined : "null";
  return objectText({
    role: '"assistant"',
    content: texts.length === 0 && calls.length > 0 ? noText : joinTokens(texts, ""),
    tool_calls: calls.length > 0 ? arrayText(calls) : undefined,
  });
}

/** The provider requires a signature only on the first of parallel calls. */
function signatureFor(
  { signature }: ToolCall,
  index: number,
  profile: Profile,
): string | undefined {
  if (profile?.toolSignature === undefined) return undefined;
  return signature ?? (index === 0 ? PLACEHOLDER_SIGNATURE : undefined);
}

function callText(call: ToolCall, signature: string | undefined): JsonText {
  return objectText({
    id: textToken(call.id),
    type: '"function"',
    function: objectText({ name: call.name, arguments: quoteText(call.input) }),
    extra_content: signature === undefined ? undefined : signatureJson(signature),
  });
}

function toolText(tool: ToolSpec): JsonText {
  const spec = { name: tool.name, description: tool.description, parameters: tool.schema };
  return objectText({ type: '"function"', function: objectText(spec) });
}

function toolChoiceText(choice: ToolChoice): JsonText {
  switch (choice.kind) {
    case "auto":
    case "none":
      return textToken(choice.kind);
    case "any":
      return textToken("required");
    case "tool":
      return objectText({ type: '"function"', function: objectText({ name: choice.name }) });
    default:
      return unreachable(choice);
  }
}
