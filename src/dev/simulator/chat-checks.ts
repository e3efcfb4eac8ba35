import { isAbsent, isObject, objectsOf, textOf, wordSet, type JsonObject } from "./json.ts";
import type { SimError } from "./sim-error.ts";

const ROLES = new Set(["system", "developer", "user", "assistant", "tool"]);
const MESSAGE_KEYS = wordSet(
  "role content name tool_calls tool_call_id refusal audio annotations",
  "reasoning_content reasoning reasoning_details function_call",
);
const PART_KEYS = wordSet(
  "type text refusal image_url input_audio file video_url prompt_cache_breakpoint",
);
const USER_PARTS = wordSet("text image_url input_audio file video_url");
const ASSISTANT_PARTS = new Set(["text", "refusal"]);
const TEXT_PARTS = new Set(["text"]);
const FUNCTION_KEYS = new Set(["name", "description", "parameters", "strict"]);
/* Controls of gateways, which no provider of this wire knows. */
const FOREIGN_KEYS = ["models", "route", "transforms", "api_key", "base_url", "connection_id"];
const TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/;

type Complaint = string | undefined;

/** The first thing a chat-completions provider would refuse in `body`. */
export function chatProblem(body: JsonObject): SimError | undefined {
  const message =
    fieldComplaint(body) ?? toolComplaint(body) ?? messagesComplaint(body) ?? orderComplaint(body);
  return message === undefined ? undefined : { status: 400, message };
}

function fieldComplaint(body: JsonObject): Complaint {
  const foreign = FOREIGN_KEYS.find((key) => body[key] !== undefined);
  if (foreign !== undefined) return `Unrecognized request argument supplied: ${foreign}`;
  if (typeof body["model"] !== "string") return "you must provide a model parameter";
  return (
    typeComplaint(body) ??
    numberComplaint(body, "temperature", 0, 2) ??
    numberComplaint(body, "top_p", 0, 1) ??
    numberComplaint(body, "frequency_penalty", -2, 2) ??
    numberComplaint(body, "presence_penalty", -2, 2) ??
    boundComplaint(body) ??
    stopComplaint(body["stop"]) ??
    streamOptionsComplaint(body)
  );
}

function typeComplaint(body: JsonObject): Complaint {
  for (const key of ["stream", "parallel_tool_calls", "logprobs", "store"]) {
    const value = body[key];
    if (!isAbsent(value) && typeof value !== "boolean") return invalidType(key, "a boolean");
  }
  for (const key of ["user", "reasoning_effort"]) {
    const value = body[key];
    if (!isAbsent(value) && typeof value !== "string") return invalidType(key, "a string");
  }
  const { n, metadata } = body;
  if (!isAbsent(n) && n !== 1) return "Invalid 'n': only one choice is simulated.";
  if (!isAbsent(metadata) && !isObject(metadata)) return invalidType("metadata", "an object");
  return undefined;
}

function numberComplaint(body: JsonObject, key: string, min: number, max: number): Complaint {
  const value = body[key];
  if (isAbsent(value)) return undefined;
  if (typeof value !== "number") return invalidType(key, "a decimal");
  return value < min || value > max
    ? `Invalid '${key}': expected a value between ${min} and ${max}, but got ${value} instead.`
    : undefined;
}

function boundComplaint(body: JsonObject): Complaint {
  for (const key of ["max_tokens", "max_completion_tokens"]) {
    const value = body[key];
    if (isAbsent(value)) continue;
    if (typeof value !== "number" || !Number.isInteger(value))
      return invalidType(key, "an integer");
    if (value < 1) return `Invalid '${key}': expected a value >= 1, but got ${value} instead.`;
  }
  return isAbsent(body["max_tokens"]) || isAbsent(body["max_completion_tokens"])
    ? undefined
    : "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.";
}

function stopComplaint(stop: unknown): Complaint {
  if (isAbsent(stop) || typeof stop === "string") return undefined;
  if (!Array.isArray(stop) || !stop.every((item) => typeof item === "string")) {
    return invalidType("stop", "a string or an array of strings");
  }
  return stop.length > 4 ? "Invalid 'stop': array too long. Expected at most 4." : undefined;
}

function streamOptionsComplaint(body: JsonObject): Complaint {
  const options = body["stream_options"];
  if (isAbsent(options)) return undefined;
  if (body["stream"] !== true) {
    return "The 'stream_options' parameter is only allowed when 'stream' is enabled.";
  }
  return isObject(options) ? undefined : invalidType("stream_options", "an object");
}

function toolComplaint(body: JsonObject): Complaint {
  const { tools, tool_choice: choice } = body;
  if (isAbsent(tools)) {
    return isAbsent(choice) && isAbsent(body["parallel_tool_calls"])
      ? undefined
      : "'tool_choice' is only allowed when 'tools' are specified.";
  }
  if (!Array.isArray(tools) || tools.length === 0) return "[] is too short - 'tools'";
  for (const [index, tool] of tools.entries()) {
    const complaint = oneToolComplaint(tool, `tools[${index}]`);
    if (complaint !== undefined) return complaint;
  }
  return choiceComplaint(choice, objectsOf(tools));
}

function oneToolComplaint(tool: unknown, path: string): Complaint {
  if (!isObject(tool)) return invalidType(path, "an object");
  if (tool["type"] !== "function") return `Missing or unknown parameter: '${path}.type'.`;
  const extra = Object.keys(tool).find((key) => key !== "type" && key !== "function");
  if (extra !== undefined) return `Unknown parameter: '${path}.${extra}'.`;
  const definition = tool["function"];
  if (!isObject(definition)) return `Missing required parameter: '${path}.function'.`;
  const unknown = Object.keys(definition).find((key) => !FUNCTION_KEYS.has(key));
  if (unknown !== undefined) return `Unknown parameter: '${path}.function.${unknown}'.`;
  if (!TOOL_NAME.test(textOf(definition["name"]))) {
    return `Invalid '${path}.function.name': does not match '^[a-zA-Z0-9_-]+$'.`;
  }
  const { parameters } = definition;
  return isAbsent(parameters) || isObject(parameters)
    ? undefined
    : invalidType(`${path}.function.parameters`, "an object");
}

function choiceComplaint(choice: unknown, tools: readonly JsonObject[]): Complaint {
  if (isAbsent(choice) || choice === "auto" || choice === "none" || choice === "required") {
    return undefined;
  }
  if (!isObject(choice)) return `Invalid value: ${JSON.stringify(choice)} for 'tool_choice'.`;
  if (choice["type"] === "allowed_tools") return undefined;
  const wanted = isObject(choice["function"]) ? choice["function"]["name"] : undefined;
  const known = tools.some(
    (tool) => isObject(tool["function"]) && tool["function"]["name"] === wanted,
  );
  return known ? undefined : `Tool choice '${String(wanted)}' not found in 'tools' parameter.`;
}

function messagesComplaint(body: JsonObject): Complaint {
  const { messages } = body;
  if (!Array.isArray(messages)) return invalidType("messages", "an array of objects");
  if (messages.length === 0) return "Invalid 'messages': empty array. Expected at least 1.";
  for (const [index, message] of messages.entries()) {
    const complaint = messageComplaint(message, `messages[${index}]`);
    if (complaint !== undefined) return complaint;
  }
  return undefined;
}

function messageComplaint(message: unknown, path: string): Complaint {
  if (!isObject(message)) return invalidType(path, "an object");
  const extra = Object.keys(message).find((key) => !MESSAGE_KEYS.has(key));
  if (extra !== undefined) return `Unknown parameter: '${path}.${extra}'.`;
  const { role, content } = message;
  if (typeof role !== "string" || !ROLES.has(role)) {
    return `Invalid value: '${String(role)}' for '${path}.role'.`;
  }
  if (role !== "assistant") return contentComplaint(content, role, `${path}.content`);
  return callsComplaint(message["tool_calls"], path) ?? answerComplaint(message, path);
}

function answerComplaint(message: JsonObject, path: string): Complaint {
  const { content, tool_calls: calls, refusal } = message;
  if (!isAbsent(content)) return contentComplaint(content, "assistant", `${path}.content`);
  return isAbsent(calls) && isAbsent(refusal) && isAbsent(message["function_call"])
    ? `Invalid value for 'content': expected a string, got null. ('${path}.content')`
    : undefined;
}

function contentComplaint(content: unknown, role: string, path: string): Complaint {
  if (typeof content === "string") return undefined;
  if (!Array.isArray(content)) return invalidType(path, "a string or an array of parts");
  if (content.length === 0) return `Invalid '${path}': empty array. Expected at least 1.`;
  const allowed =
    role === "user" ? USER_PARTS : role === "assistant" ? ASSISTANT_PARTS : TEXT_PARTS;
  for (const [index, part] of content.entries()) {
    if (!isObject(part) || !allowed.has(textOf(part["type"]))) {
      return `Invalid value for '${path}[${index}].type' in a message of role '${role}'.`;
    }
    const extra = Object.keys(part).find((key) => !PART_KEYS.has(key));
    if (extra !== undefined) return `Unknown parameter: '${path}[${index}].${extra}'.`;
    if (part["type"] === "text" && typeof part["text"] !== "string") {
      return invalidType(`${path}[${index}].text`, "a string");
    }
  }
  return undefined;
}

function callsComplaint(calls: unknown, path: string): Complaint {
  if (isAbsent(calls)) return undefined;
  if (!Array.isArray(calls) || calls.length === 0) {
    return `Invalid '${path}.tool_calls': expected a non-empty array.`;
  }
  for (const [index, call] of calls.entries()) {
    const at = `${path}.tool_calls[${index}]`;
    if (!isObject(call) || call["type"] !== "function" || textOf(call["id"]) === "") {
      return `Missing required parameter: '${at}' needs type 'function' and an id.`;
    }
    const called = call["function"];
    if (!isObject(called) || !TOOL_NAME.test(textOf(called["name"]))) {
      return `Invalid '${at}.function.name'.`;
    }
    if (typeof called["arguments"] !== "string") {
      return invalidType(`${at}.function.arguments`, "a string");
    }
  }
  return undefined;
}

/* Every call is answered by a tool message before anybody else speaks. */
function orderComplaint(body: JsonObject): Complaint {
  let waiting = new Set<string>();
  let known = new Set<string>();
  for (const message of objectsOf(body["messages"])) {
    if (message["role"] === "tool") {
      const id = textOf(message["tool_call_id"]);
      if (!known.has(id)) {
        return "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.";
      }
      waiting.delete(id);
      continue;
    }
    if (waiting.size > 0) break;
    known = new Set(objectsOf(message["tool_calls"]).map((call) => textOf(call["id"])));
    waiting = new Set(known);
  }
  return waiting.size === 0
    ? undefined
    : `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${[...waiting].join(", ")}`;
}

function invalidType(path: string, expected: string): string {
  return `Invalid type for '${path}': expected ${expected}.`;
}
