import { defined } from "../../../src/kernel/core/defined.ts";
import type { RequestMessage } from "../pages/playground/chat/chat-request.ts";
import { member, text, parseJson } from "../pages/playground/gateway.ts";

/** Converts a chat-completions request. The official clients require `max_tokens`. */
export function messagesBody(of: {
  readonly modelId: string;
  readonly messages: readonly RequestMessage[];
  readonly parameters: Readonly<Record<string, unknown>>;
}): Record<string, unknown> {
  const { modelId, messages, parameters } = of;
  const system = messages.find(({ role }) => role === "system")?.content;
  const { temperature, top_p, top_k, stop, tools, provider, thinking } = parameters;
  return defined({
    model: modelId,
    max_tokens: parameters["max_tokens"] ?? parameters["max_completion_tokens"] ?? 4096,
    system,
    messages: messages.filter(({ role }) => role !== "system").map(asMessage),
    temperature,
    top_p,
    top_k,
    stop_sequences: stop,
    tools: Array.isArray(tools) ? tools.map(asTool) : undefined,
    output_config: outputConfig(parameters),
    thinking,
    provider,
  });
}

/** Leaves out the effort `none`: reasoning is off by default on the messages route. */
function outputConfig(parameters: Readonly<Record<string, unknown>>): object | undefined {
  const schema = member(member(parameters["response_format"], "json_schema"), "schema");
  const effort = parameters["reasoning_effort"];
  const config = {
    ...(typeof effort === "string" && effort !== "none" ? { effort } : {}),
    ...(schema === undefined ? {} : { format: { type: "json_schema", schema } }),
  };
  return Object.keys(config).length === 0 ? undefined : config;
}

function asTool(tool: unknown): object {
  const bare = member(tool, "function");
  return defined({
    name: member(bare, "name"),
    description: text(member(bare, "description")),
    input_schema: member(bare, "parameters"),
  });
}

function asMessage(message: RequestMessage): object {
  const { role, content, tool_calls: calls, tool_call_id: callId } = message;
  if (role === "tool") {
    return { role: "user", content: [{ type: "tool_result", tool_use_id: callId, content }] };
  }
  if (calls === undefined) return { role, content: blocks(content) };
  const said = content === "" ? [] : [{ type: "text", text: content }];
  return {
    role,
    content: [
      ...said,
      ...calls.map(({ id, function: { name, arguments: sent } }) => {
        return { type: "tool_use", id, name, input: parseJson(sent) ?? {} };
      }),
    ],
  };
}

function blocks(content: RequestMessage["content"]): RequestMessage["content"] {
  if (typeof content === "string") return content;
  return content.map((part) => {
    if (member(part, "type") === "image_url") {
      const source = { type: "base64", media_type: "image/png", data: "BASE64_OF_YOUR_IMAGE" };
      return { type: "image", source };
    }
    if (member(part, "type") === "file") {
      const source = { type: "base64", media_type: "application/pdf", data: "BASE64_OF_YOUR_FILE" };
      return { type: "document", source };
    }
    return part;
  });
}
