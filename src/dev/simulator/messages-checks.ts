import { cacheMarksComplaint } from "./cache-marks.ts";
import {
  contentText,
  isAbsent,
  isObject,
  objectsOf,
  textOf,
  wordSet,
  type JsonObject,
} from "./json.ts";
import { contentComplaint, pairingComplaint, type Complaint } from "./messages-blocks.ts";
import type { RequestHeaders, SimError } from "./sim-error.ts";

const BODY_KEYS = wordSet(
  "model messages max_tokens system temperature top_p top_k stop_sequences stream",
  "tools tool_choice metadata thinking service_tier container mcp_servers",
  "context_management compaction output_config output_format cache_control inference_geo speed",
  "diagnostics fallback_credit_token billing_policy user_profile_id workspace_id",
);
/** Fields that count as unknown without one of these names in the beta header. */
const GATED: Readonly<Record<string, RegExp>> = {
  context_management: /\b(context-management|compact)-\d/,
  compaction: /\bcompact-\d/,
  output_format: /\bstructured-outputs-\d/,
  mcp_servers: /\bmcp-client-\d/,
  fallback_credit_token: /\bfallback-credit-\d/,
  billing_policy: /\buser-profiles-billing-\d/,
  "output_config.task_budget": /\btask-budgets-\d/,
  "tools.defer_loading": /\badvanced-tool-use-\d/,
  "tools.allowed_callers": /\badvanced-tool-use-\d/,
  "tools.input_examples": /\badvanced-tool-use-\d/,
};
const TOOL_KEYS = wordSet(
  "type name description input_schema cache_control strict defer_loading",
  "allowed_callers input_examples eager_input_streaming",
);
const TOOL_NAME = /^[a-zA-Z0-9_-]{1,128}$/;
const THINKING_TYPES = new Set(["enabled", "disabled", "adaptive", "between_tools"]);
/* A test may send a field of its own, to see it come through. */
const FREE_KEY = /^x_/;

/** The first thing a messages provider would refuse in `body`, its version header included. */
export function messagesProblem(body: JsonObject, headers: RequestHeaders): SimError | undefined {
  const message =
    versionComplaint(headers) ??
    fieldComplaint(body) ??
    gateComplaint(body, String(headers["anthropic-beta"] ?? "")) ??
    samplingComplaint(body) ??
    cacheMarksComplaint(body) ??
    toolsComplaint(body) ??
    messagesComplaint(body);
  return message === undefined ? undefined : { status: 400, message };
}

function versionComplaint(headers: RequestHeaders): Complaint {
  const version = headers["anthropic-version"];
  if (version === undefined) return "anthropic-version: header is required";
  return version === "2023-06-01" || version === "2026-10-21"
    ? undefined
    : `anthropic-version: "${String(version)}" is not a valid version`;
}

function fieldComplaint(body: JsonObject): Complaint {
  const extra = Object.keys(body).find((key) => !BODY_KEYS.has(key) && !FREE_KEY.test(key));
  if (extra !== undefined) return `${extra}: Extra inputs are not permitted`;
  const { model, max_tokens: maxTokens, stream, metadata } = body;
  if (typeof model !== "string") return "model: Field required";
  if (maxTokens === undefined) return "max_tokens: Field required";
  if (typeof maxTokens !== "number" || !Number.isInteger(maxTokens)) {
    return "max_tokens: Input should be a valid integer";
  }
  if (maxTokens < 1) return "max_tokens: Input should be greater than or equal to 1";
  if (stream !== undefined && typeof stream !== "boolean") {
    return "stream: Input should be a valid boolean";
  }
  return metadataComplaint(metadata) ?? thinkingComplaint(body["thinking"], maxTokens);
}

function gateComplaint(body: JsonObject, betas: string): Complaint {
  const isShut = (name: string): boolean => GATED[name]?.test(betas) === false;
  const shut = Object.keys(body).find(isShut);
  if (shut !== undefined) return `${shut}: Extra inputs are not permitted`;
  const config = isObject(body["output_config"]) ? Object.keys(body["output_config"]) : [];
  const setting = config.find((key) => isShut(`output_config.${key}`));
  if (setting !== undefined) return `output_config.${setting}: Extra inputs are not permitted`;
  for (const [index, tool] of objectsOf(body["tools"]).entries()) {
    const key = Object.keys(tool).find((each) => isShut(`tools.${each}`));
    if (key !== undefined) return `tools.${index}.custom.${key}: Extra inputs are not permitted`;
  }
  return undefined;
}

function metadataComplaint(metadata: unknown): Complaint {
  if (isAbsent(metadata)) return undefined;
  if (!isObject(metadata)) return "metadata: Input should be a valid dictionary";
  const extra = Object.keys(metadata).find((key) => key !== "user_id");
  return extra === undefined ? undefined : `metadata.${extra}: Extra inputs are not permitted`;
}

function thinkingComplaint(thinking: unknown, maxTokens: number): Complaint {
  if (isAbsent(thinking)) return undefined;
  if (!isObject(thinking) || !THINKING_TYPES.has(textOf(thinking["type"]))) {
    return "thinking: Input tag does not match any of the expected tags";
  }
  const budget = thinking["budget_tokens"];
  if (thinking["type"] !== "enabled") return undefined;
  if (typeof budget !== "number" || budget < 1024) {
    return "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024";
  }
  return budget < maxTokens
    ? undefined
    : "`max_tokens` must be greater than `thinking.budget_tokens`.";
}

function samplingComplaint(body: JsonObject): Complaint {
  for (const key of ["temperature", "top_p"]) {
    const value = body[key];
    if (isAbsent(value)) continue;
    if (typeof value !== "number") return `${key}: Input should be a valid number`;
    if (value < 0 || value > 1) return `${key}: range: 0..1`;
  }
  const { top_k: topK, stop_sequences: stops } = body;
  if (!isAbsent(topK) && (typeof topK !== "number" || !Number.isInteger(topK))) {
    return "top_k: Input should be a valid integer";
  }
  if (isAbsent(stops)) return undefined;
  if (!Array.isArray(stops)) return "stop_sequences: Input should be a valid list";
  return stops.every((stop) => typeof stop === "string" && stop.trim() !== "")
    ? undefined
    : "stop_sequences: each stop sequence must contain non-whitespace";
}

function toolsComplaint(body: JsonObject): Complaint {
  const { tools, tool_choice: choice } = body;
  if (isAbsent(tools)) {
    if (!isAbsent(choice)) return "tool_choice: may only be specified while providing tools";
    return usesTools(body)
      ? "Requests which have `tool_use` or `tool_result` blocks in their messages must define tools"
      : undefined;
  }
  if (!Array.isArray(tools)) return "tools: Input should be a valid list";
  const names = objectsOf(tools).map((tool) => textOf(tool["name"]));
  if (new Set(names).size < names.length) return "tools: Tool names must be unique.";
  for (const [index, tool] of tools.entries()) {
    const complaint = toolComplaint(tool, `tools.${index}.custom`);
    if (complaint !== undefined) return complaint;
  }
  return choiceComplaint(choice, names);
}

function usesTools(body: JsonObject): boolean {
  return objectsOf(body["messages"])
    .flatMap((message) => objectsOf(message["content"]))
    .some((block) => block["type"] === "tool_use" || block["type"] === "tool_result");
}

function toolComplaint(tool: unknown, path: string): Complaint {
  if (!isObject(tool)) return `${path}: Input should be a valid dictionary`;
  const { type, name, input_schema: schema } = tool;
  // Tools that the provider runs itself have shapes of their own.
  if (!isAbsent(type) && type !== "custom") return undefined;
  const extra = Object.keys(tool).find((key) => !TOOL_KEYS.has(key));
  if (extra !== undefined) return `${path}.${extra}: Extra inputs are not permitted`;
  if (!TOOL_NAME.test(textOf(name))) {
    return `${path}.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`;
  }
  if (!isObject(schema)) return `${path}.input_schema: Field required`;
  return schema["type"] === "object"
    ? undefined
    : `${path}.input_schema.type: Input should be 'object'`;
}

function choiceComplaint(choice: unknown, names: readonly string[]): Complaint {
  if (isAbsent(choice)) return undefined;
  if (!isObject(choice)) return "tool_choice: Input should be a valid dictionary";
  const { type, name } = choice;
  const allowed = ["type", ...(type === "tool" ? ["name"] : [])];
  if (type !== "none") allowed.push("disable_parallel_tool_use");
  const extra = Object.keys(choice).find((key) => !allowed.includes(key));
  if (extra !== undefined) return `tool_choice.${extra}: Extra inputs are not permitted`;
  if (type === "tool") {
    return names.includes(textOf(name))
      ? undefined
      : `Tool '${String(name)}' not found in provided tools`;
  }
  return type === "auto" || type === "any" || type === "none"
    ? undefined
    : "tool_choice: Input tag does not match any of the expected tags";
}

function messagesComplaint(body: JsonObject): Complaint {
  const { messages, system } = body;
  if (!Array.isArray(messages)) return "messages: Field required";
  if (messages.length === 0) return "messages: at least one message is required";
  if (!isAbsent(system)) {
    const complaint = contentComplaint(system, "system", "system");
    if (complaint !== undefined) return complaint;
  }
  for (const [index, message] of messages.entries()) {
    const isLast = index === messages.length - 1;
    const complaint = messageComplaint(message, index, isLast);
    if (complaint !== undefined) return complaint;
  }
  return pairingComplaint(objectsOf(messages));
}

function messageComplaint(message: unknown, index: number, isLast: boolean): Complaint {
  const path = `messages.${index}`;
  if (!isObject(message)) return `${path}: Input should be a valid dictionary`;
  const { role, content } = message;
  const extra = Object.keys(message).find((key) => key !== "role" && key !== "content");
  if (extra !== undefined) return `${path}.${extra}: Extra inputs are not permitted`;
  if (role !== "user" && role !== "assistant" && role !== "system") {
    return `messages: Unexpected role "${String(role)}". Allowed roles are "user", "assistant" and "system".`;
  }
  if (index === 0 && role !== "user") return 'messages: first message must use the "user" role';
  const complaint = contentComplaint(content, role, `${path}.content`);
  if (complaint !== undefined) return complaint;
  const isPrefill = isLast && role === "assistant";
  if (isPrefill) return prefillComplaint(content);
  const isEmpty = content === "" || (Array.isArray(content) && content.length === 0);
  return isEmpty
    ? `${path}: all messages must have non-empty content except for the optional final assistant message`
    : undefined;
}

function prefillComplaint(content: unknown): Complaint {
  const text = contentText(content);
  return text === text.trimEnd()
    ? undefined
    : "messages: final assistant content cannot end with trailing whitespace";
}
