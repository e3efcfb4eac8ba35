import { textOf } from "../../kernel/index.ts";
import { contentText, isAbsent, isObject, pickObjects, type JsonObject } from "./json.ts";
import {
  any,
  anything,
  be,
  decimal,
  dictionary,
  fields,
  filledText,
  flag,
  listOf,
  matching,
  oneOf,
  tagged,
  text,
  textOr,
  whole,
  type Complaint,
  type Rule,
} from "./shape.ts";
import type { RequestHeaders, SimError } from "./sim-error.ts";

/** By name: fields that are refused as unknown unless the pattern matches the beta header. */
const GATED: Readonly<Record<string, RegExp>> = {
  context_management: /\b(context-management|compact)-\d/,
  compaction: /\bcompact-\d/,
  output_format: /\bstructured-outputs-\d/,
  mcp_servers: /\bmcp-client-\d/,
  fallback_credit_token: /\bfallback-credit-\d/,
  billing_policy: /\buser-profiles-billing-\d/,
  "output_config.task_budget": /\btask-budgets-\d/,
  "thinking.block_binding": /\bthinking-binding-controls-\d/,
  "thinking.display": /\bthinking-display-updates-\d/,
  "tools.defer_loading": /\badvanced-tool-use-\d/,
  "tools.allowed_callers": /\badvanced-tool-use-\d/,
  "tools.input_examples": /\badvanced-tool-use-\d/,
};

const ID = matching(/^[a-zA-Z0-9_-]+$/);
const WORDS = be(
  "text: text content blocks must be non-empty and contain non-whitespace text",
  (value) => textOf(value).trim() !== "",
);

const blockWith = (rules: Readonly<Record<string, Rule>>): Rule =>
  fields({ ...rules, ...any("type cache_control") });
const RESULT_BLOCKS = {
  text: blockWith({ "text!": WORDS, citations: anything }),
  image: blockWith(any("source")),
  document: blockWith(any("source title context citations")),
  search_result: blockWith(any("source title content citations")),
};
const CONTENT_OF: Readonly<Record<string, Rule>> = {
  system: contentOf({ text: RESULT_BLOCKS.text }),
  user: contentOf({
    ...RESULT_BLOCKS,
    tool_result: blockWith({
      "tool_use_id!": ID,
      is_error: flag,
      content: contentOf(RESULT_BLOCKS),
    }),
  }),
  assistant: contentOf({
    text: RESULT_BLOCKS.text,
    tool_use: blockWith({ "id!": ID, "name!": filledText, "input!": dictionary, caller: anything }),
    thinking: blockWith({ thinking: anything, "signature!": filledText }),
    redacted_thinking: blockWith(any("data")),
  }),
};

function contentOf(blocks: Readonly<Record<string, Rule>>): Rule {
  return textOr(listOf(tagged("type", blocks)));
}

const TOOL = fields({
  ...any("type description cache_control strict defer_loading allowed_callers input_examples"),
  ...any("eager_input_streaming"),
  "name!": matching(/^[a-zA-Z0-9_-]{1,128}$/),
  "input_schema!": fields({ "type!": oneOf("object") }, anything),
});
const CHOICE = { type: text, disable_parallel_tool_use: flag };
const OPEN = fields({}, anything);

const BODY = fields(
  {
    ...any("service_tier container mcp_servers context_management compaction output_config"),
    ...any("output_format cache_control inference_geo speed diagnostics fallback_credit_token"),
    ...any("billing_policy user_profile_id workspace_id"),
    "model!": text,
    "max_tokens!": whole(1),
    stream: flag,
    metadata: fields({ user_id: anything }),
    thinking: tagged("type", {
      enabled: fields({ "budget_tokens!": whole(1024) }, anything),
      disabled: OPEN,
      adaptive: OPEN,
      between_tools: OPEN,
    }),
    temperature: decimal(0, 1),
    top_p: decimal(0, 1),
    top_k: whole(0),
    stop_sequences: listOf(be("more than white space", (value) => textOf(value).trim() !== "")),
    // A tool that the provider itself runs has other fields, and those are not checked.
    tools: listOf((tool, path) => (isForeign(tool) ? undefined : TOOL(tool, path))),
    tool_choice: tagged("type", {
      auto: fields(CHOICE),
      any: fields(CHOICE),
      none: fields({ type: text }),
      tool: fields({ ...CHOICE, "name!": text }),
    }),
    system: CONTENT_OF["system"] ?? anything,
    "messages!": listOf(messageComplaint),
  },
  // Accepts fields named `x_…`, with which tests see that the gateway passes unknown fields on.
  (_value, path) => (path.startsWith("x_") ? undefined : `${path}: Extra inputs are not permitted`),
);

/** The first problem for which a real provider would refuse the body or the version header. */
export function messagesProblem(body: JsonObject, headers: RequestHeaders): SimError | undefined {
  const message =
    versionComplaint(headers) ??
    BODY(body, "") ??
    gateComplaint(body, String(headers["anthropic-beta"] ?? "")) ??
    cacheMarksComplaint(body) ??
    togetherComplaint(body) ??
    orderComplaint(pickObjects(body["messages"]));
  return message === undefined ? undefined : { status: 400, message };
}

function versionComplaint(headers: RequestHeaders): Complaint {
  const version = headers["anthropic-version"];
  if (version === undefined) return "anthropic-version: header is required";
  return version === "2023-06-01" || version === "2026-10-21"
    ? undefined
    : `anthropic-version: "${String(version)}" is not a valid version`;
}

function gateComplaint(body: JsonObject, betas: string): Complaint {
  const config = isObject(body["output_config"]) ? Object.keys(body["output_config"]) : [];
  const thinking: JsonObject = isObject(body["thinking"]) ? body["thinking"] : {};
  // All other values of `display` are open.
  const thought = Object.keys(thinking).filter(
    (key) => key !== "display" || thinking[key] === "updates",
  );
  const tools = pickObjects(body["tools"]).flatMap((tool) => Object.keys(tool));
  const sent = [
    ...Object.keys(body),
    ...config.map((key) => `output_config.${key}`),
    ...thought.map((key) => `thinking.${key}`),
    ...tools.map((key) => `tools.${key}`),
  ];
  const shut = sent.find((name) => GATED[name]?.test(betas) === false);
  return shut === undefined ? undefined : `${shut}: Extra inputs are not permitted`;
}

function isForeign(tool: unknown): boolean {
  return isObject(tool) && !isAbsent(tool["type"]) && tool["type"] !== "custom";
}

function messageComplaint(message: unknown, path: string): Complaint {
  const role = isObject(message) ? textOf(message["role"]) : "";
  const content = Object.hasOwn(CONTENT_OF, role) ? CONTENT_OF[role] : undefined;
  if (isObject(message) && content === undefined) return `messages: Unexpected role "${role}".`;
  return fields({ role: text, "content!": content ?? anything })(message, path);
}

function togetherComplaint(body: JsonObject): Complaint {
  const { tools, tool_choice: choice, thinking, max_tokens: bound } = body;
  const isThinking = isObject(thinking) && thinking["type"] === "enabled";
  if (isThinking && Number(thinking["budget_tokens"]) >= Number(bound)) {
    return "`max_tokens` must be greater than `thinking.budget_tokens`.";
  }
  const names = pickObjects(tools).map((tool) => textOf(tool["name"]));
  if (new Set(names).size < names.length) return "tools: Tool names must be unique.";
  if (!isAbsent(tools)) {
    const wanted =
      isObject(choice) && choice["type"] === "tool" ? textOf(choice["name"]) : names[0];
    return wanted === undefined || names.includes(wanted)
      ? undefined
      : `Tool '${wanted}' not found in provided tools`;
  }
  if (!isAbsent(choice)) return "tool_choice: may only be specified while providing tools";
  const messages = pickObjects(body["messages"]);
  const usesTools = messages.some((each) =>
    listTypes(each).some((type) => type.startsWith("tool_")),
  );
  return usesTools
    ? "Requests with `tool_use` or `tool_result` blocks must define tools"
    : undefined;
}

/** The first message must be a user's, only a final answer may be empty, calls need results. */
function orderComplaint(messages: readonly JsonObject[]): Complaint {
  const [first] = messages;
  if (first === undefined) return "messages: at least one message is required";
  if (first["role"] !== "user") return 'messages: first message must use the "user" role';
  let called: readonly string[] = [];
  const used = new Set<string>();
  for (const [index, message] of messages.entries()) {
    const complaint = emptyComplaint(messages, index) ?? answersComplaint(message, called, index);
    if (complaint !== undefined) return complaint;
    called = pickBlocks(message, "tool_use").map((block) => textOf(block["id"]));
    for (const id of called) {
      if (used.has(id)) return `messages.${index}: \`tool_use\` ids must be unique`;
      used.add(id);
    }
  }
  return called.length === 0 ? undefined : unanswered(messages.length - 1, called);
}

function emptyComplaint(messages: readonly JsonObject[], index: number): Complaint {
  const { role, content } = messages[index] ?? {};
  if (role === "assistant" && index === messages.length - 1) {
    const prefill = contentText(content);
    return prefill === prefill.trimEnd()
      ? undefined
      : "messages: final assistant content cannot end with trailing whitespace";
  }
  const isEmpty = content === "" || (Array.isArray(content) && content.length === 0);
  return isEmpty
    ? `messages.${index}: all messages must have non-empty content except for the optional final assistant message`
    : undefined;
}

/* Complains unless the message begins with exactly one result for each call just before it. */
function answersComplaint(message: JsonObject, called: readonly string[], at: number): Complaint {
  const types = listTypes(message);
  const other = types.findIndex((type) => type !== "tool_result");
  const results = pickBlocks(message, "tool_result").map((block) => textOf(block["tool_use_id"]));
  const leading = new Set(results.slice(0, other < 0 ? results.length : other));
  const missing = called.filter((id) => !leading.has(id));
  if (missing.length > 0) return unanswered(at - 1, missing);
  const stray = results.find((id) => !called.includes(id));
  if (stray !== undefined) {
    return `messages.${at}.content: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${stray}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`;
  }
  return new Set(results).size < results.length
    ? `messages.${at}.content: each tool_use must have a single result`
    : undefined;
}

function listTypes(message: JsonObject): readonly string[] {
  return pickObjects(message["content"]).map((block) => textOf(block["type"]));
}

function pickBlocks(message: JsonObject, type: string): readonly JsonObject[] {
  return pickObjects(message["content"]).filter((block) => block["type"] === type);
}

function unanswered(at: number, ids: readonly string[]): string {
  return `messages.${at}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${ids.join(", ")}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`;
}

const TIMES: ReadonlySet<unknown> = new Set([undefined, null, "5m", "1h"]);

/** Complains about unknown cache lifetimes, and about a mark of 1 hour after one of 5 minutes. */
export function cacheMarksComplaint(body: JsonObject): Complaint {
  let hasShort = false;
  for (const mark of [
    ...collectMarks(listPromptParts(body)),
    ...pickObjects([body["cache_control"]]),
  ]) {
    const { type: _type, ttl, ...others } = mark;
    const [extra] = Object.keys(others);
    if (extra !== undefined) return `cache_control.${extra}: Extra inputs are not permitted`;
    if (!TIMES.has(ttl)) return "cache_control.ttl: Input should be '5m' or '1h'";
    if (ttl === "1h" && hasShort) {
      return "cache_control.ttl: a ttl='1h' block must not come after a ttl='5m' block";
    }
    hasShort ||= ttl !== "1h";
  }
  return undefined;
}

/** The parts of a prompt, in the order in which providers cache them. */
function listPromptParts(body: JsonObject): readonly unknown[] {
  return [body["tools"], body["system"], body["messages"]];
}

function collectMarks(value: unknown): readonly JsonObject[] {
  if (Array.isArray(value)) return value.flatMap(collectMarks);
  if (!isObject(value)) return [];
  const { cache_control: mark, ...rest } = value;
  return [...pickObjects([mark]), ...Object.values(rest).flatMap(collectMarks)];
}
