import { isAbsent, isObject, objectsOf, textOf, type JsonObject } from "./json.ts";

export type Complaint = string | undefined;

/* Keys each block may have; a block of another type is refused. */
const BLOCK_KEYS: Readonly<Record<string, readonly string[]>> = {
  text: ["text", "citations"],
  image: ["source"],
  document: ["source", "title", "context", "citations"],
  search_result: ["source", "title", "content", "citations"],
  tool_use: ["id", "name", "input", "caller"],
  tool_result: ["tool_use_id", "content", "is_error"],
  thinking: ["thinking", "signature"],
  redacted_thinking: ["data"],
};
const ASSISTANT_BLOCKS = new Set(["text", "tool_use", "thinking", "redacted_thinking"]);
const USER_BLOCKS = new Set(["text", "image", "document", "search_result", "tool_result"]);
const TEXT_BLOCKS = new Set(["text"]);
const ID = /^[a-zA-Z0-9_-]+$/;

/** What is wrong with the content of a message of `role`, or of `system`. */
export function contentComplaint(content: unknown, role: string, path: string): Complaint {
  if (typeof content === "string") return undefined;
  if (!Array.isArray(content)) return `${path}: Input should be a valid list`;
  const allowed =
    role === "user" ? USER_BLOCKS : role === "assistant" ? ASSISTANT_BLOCKS : TEXT_BLOCKS;
  for (const [index, block] of content.entries()) {
    const complaint = blockComplaint(block, allowed, `${path}.${index}`);
    if (complaint !== undefined) return complaint;
  }
  return undefined;
}

function blockComplaint(block: unknown, allowed: ReadonlySet<string>, path: string): Complaint {
  if (!isObject(block)) return `${path}: Input should be a valid dictionary`;
  const type = textOf(block["type"]);
  const keys = BLOCK_KEYS[type];
  if (keys === undefined || !allowed.has(type)) {
    return `${path}: Input tag '${type}' found using 'type' does not match any of the expected tags: ${[...allowed].join(", ")}`;
  }
  const extra = Object.keys(block).find(
    (key) => key !== "type" && key !== "cache_control" && !keys.includes(key),
  );
  if (extra !== undefined) return `${path}.${type}.${extra}: Extra inputs are not permitted`;
  return insideComplaint(block, type, path);
}

function insideComplaint(block: JsonObject, type: string, path: string): Complaint {
  switch (type) {
    case "text":
      return textComplaint(block["text"], path);
    case "tool_use":
      return toolUseComplaint(block, path);
    case "tool_result":
      return toolResultComplaint(block, path);
    case "thinking":
      return textOf(block["signature"]) === ""
        ? `${path}: Invalid \`signature\` in \`thinking\` block`
        : undefined;
    default:
      return undefined;
  }
}

function textComplaint(text: unknown, path: string): Complaint {
  if (typeof text !== "string") return `${path}.text.text: Input should be a valid string`;
  if (text === "") return "messages: text content blocks must be non-empty";
  return text.trim() === ""
    ? "messages: text content blocks must contain non-whitespace text"
    : undefined;
}

function toolUseComplaint(block: JsonObject, path: string): Complaint {
  if (!ID.test(textOf(block["id"]))) {
    return `${path}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'`;
  }
  if (textOf(block["name"]) === "") return `${path}.tool_use.name: Field required`;
  return isObject(block["input"])
    ? undefined
    : `${path}.tool_use.input: Input should be a valid dictionary`;
}

function toolResultComplaint(block: JsonObject, path: string): Complaint {
  const { tool_use_id: id, content, is_error: isError } = block;
  if (!ID.test(textOf(id))) return `${path}.tool_result.tool_use_id: Field required`;
  if (!isAbsent(isError) && typeof isError !== "boolean") {
    return `${path}.tool_result.is_error: Input should be a valid boolean`;
  }
  if (content === undefined || typeof content === "string") return undefined;
  const allowed = new Set(["text", "image", "document", "search_result"]);
  if (!Array.isArray(content)) return `${path}.tool_result.content: Input should be a valid list`;
  for (const [index, inner] of content.entries()) {
    const complaint = blockComplaint(inner, allowed, `${path}.tool_result.content.${index}`);
    if (complaint !== undefined) return complaint;
  }
  return undefined;
}

/** Calls and results must stand in neighbouring messages, results first, each exactly once. */
export function pairingComplaint(messages: readonly JsonObject[]): Complaint {
  let called: readonly string[] = [];
  for (const [index, message] of messages.entries()) {
    const complaint = answersComplaint(message, called, index);
    if (complaint !== undefined) return complaint;
    called = blocksOf(message, "tool_use").map((block) => textOf(block["id"]));
    if (new Set(called).size < called.length) return "messages: `tool_use` ids must be unique";
  }
  return called.length === 0 ? undefined : unanswered(messages.length - 1, called);
}

function answersComplaint(message: JsonObject, called: readonly string[], at: number): Complaint {
  const leading = new Set(leadingResults(message));
  const missing = called.filter((id) => !leading.has(id));
  if (missing.length > 0) return unanswered(at - 1, missing);
  const results = blocksOf(message, "tool_result").map((block) => textOf(block["tool_use_id"]));
  const stray = results.find((id) => !called.includes(id));
  if (stray !== undefined) {
    return `messages.${at}.content: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${stray}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`;
  }
  return new Set(results).size < results.length
    ? `messages.${at}.content: each tool_use must have a single result`
    : undefined;
}

function leadingResults(message: JsonObject): readonly string[] {
  const blocks = objectsOf(message["content"]);
  const other = blocks.findIndex((block) => block["type"] !== "tool_result");
  const leading = other < 0 ? blocks : blocks.slice(0, other);
  return leading.map((block) => textOf(block["tool_use_id"]));
}

function blocksOf(message: JsonObject, type: string): readonly JsonObject[] {
  return objectsOf(message["content"]).filter((block) => block["type"] === type);
}

function unanswered(at: number, ids: readonly string[]): string {
  return `messages.${at}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${ids.join(", ")}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`;
}
