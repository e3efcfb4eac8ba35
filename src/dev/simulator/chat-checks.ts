import { textOf } from "../../kernel/index.ts";
import { isAbsent, isObject, pickObjects, type JsonObject } from "./json.ts";
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
import type { SimError } from "./sim-error.ts";

const TOOL_NAME = matching(/^[a-zA-Z0-9_-]{1,64}$/);
/** Refuses fields that the gateway must not pass on, and ignores other unknown fields. */
const FOREIGN = fields({}, (_value, path) =>
  /^(models|route|transforms|api_key|base_url|connection_id)$/.test(path)
    ? `Unrecognized request argument supplied: ${path}`
    : undefined,
);

const PART = any("type refusal image_url input_audio file video_url prompt_cache_breakpoint");
const MEDIA_PART = fields({ ...PART, text: anything });
const TEXT_PARTS = { text: fields({ ...PART, "text!": text }) };
const USER_PARTS = {
  ...TEXT_PARTS,
  image_url: MEDIA_PART,
  input_audio: MEDIA_PART,
  file: MEDIA_PART,
  video_url: MEDIA_PART,
};
const contentOf = (parts: Readonly<Record<string, Rule>>): Rule =>
  textOr(listOf(tagged("type", parts), 1));

const CALL = fields(
  {
    "id!": filledText,
    "type!": oneOf("function"),
    "function!": fields({ "name!": TOOL_NAME, "arguments!": text }, anything),
  },
  anything,
);
const MESSAGE = any(
  "role name tool_calls tool_call_id refusal audio annotations reasoning_content reasoning reasoning_details function_call",
);
const TEXT_MESSAGE = fields({ ...MESSAGE, "content!": contentOf(TEXT_PARTS) });
const ANSWER = fields({
  ...MESSAGE,
  tool_calls: listOf(CALL, 1),
  content: contentOf({ ...TEXT_PARTS, refusal: MEDIA_PART }),
});
const MESSAGES = tagged("role", {
  system: TEXT_MESSAGE,
  developer: TEXT_MESSAGE,
  tool: TEXT_MESSAGE,
  user: fields({ ...MESSAGE, "content!": contentOf(USER_PARTS) }),
  assistant: (value, path) => ANSWER(value, path) ?? emptyComplaint(value, path),
});

const TOOL = fields({
  "type!": oneOf("function"),
  "function!": fields({
    "name!": TOOL_NAME,
    description: text,
    parameters: dictionary,
    strict: anything,
  }),
});

const BODY = fields(
  {
    "model!": text,
    stream: flag,
    parallel_tool_calls: flag,
    logprobs: flag,
    store: flag,
    user: text,
    reasoning_effort: text,
    n: be("1: only one choice is simulated", (value) => value === 1),
    metadata: dictionary,
    temperature: decimal(0, 2),
    top_p: decimal(0, 1),
    frequency_penalty: decimal(-2, 2),
    presence_penalty: decimal(-2, 2),
    max_tokens: whole(1),
    max_completion_tokens: whole(1),
    stop: textOr(listOf(text, 0, 4)),
    stream_options: dictionary,
    tools: listOf(TOOL, 1),
    "messages!": listOf(MESSAGES, 1),
  },
  anything,
);

export function chatProblem(body: JsonObject): SimError | undefined {
  const message =
    FOREIGN(body, "") ?? BODY(body, "") ?? togetherComplaint(body) ?? orderComplaint(body);
  return message === undefined ? undefined : { status: 400, message };
}

function emptyComplaint(message: unknown, path: string): Complaint {
  const said = ["content", "tool_calls", "refusal", "function_call"];
  const isEmpty = isObject(message) && said.every((key) => isAbsent(message[key]));
  return isEmpty ? `${path}.content: expected a string, got null` : undefined;
}

function togetherComplaint(body: JsonObject): Complaint {
  const { stream, stream_options: options, tools, tool_choice: choice } = body;
  if (!isAbsent(body["max_tokens"]) && !isAbsent(body["max_completion_tokens"])) {
    return "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.";
  }
  if (!isAbsent(options) && stream !== true) {
    return "The 'stream_options' parameter is only allowed when 'stream' is enabled.";
  }
  if (isAbsent(tools)) {
    return isAbsent(choice) && isAbsent(body["parallel_tool_calls"])
      ? undefined
      : "'tool_choice' is only allowed when 'tools' are specified.";
  }
  if (isAbsent(choice) || /^(auto|none|required)$/.test(textOf(choice))) return undefined;
  if (!isObject(choice)) return `Invalid value: ${JSON.stringify(choice)} for 'tool_choice'.`;
  const readToolName = ({ function: named }: JsonObject): unknown =>
    isObject(named) && named["name"];
  const isKnown = pickObjects(tools).some((tool) => readToolName(tool) === readToolName(choice));
  return isKnown || choice["type"] === "allowed_tools"
    ? undefined
    : `Tool choice '${String(readToolName(choice))}' not found in 'tools' parameter.`;
}

/* Complains unless tool messages answer all tool calls before a message of another role comes. */
function orderComplaint(body: JsonObject): Complaint {
  let waiting = new Set<string>();
  let known = new Set<string>();
  for (const message of pickObjects(body["messages"])) {
    if (message["role"] === "tool") {
      const id = textOf(message["tool_call_id"]);
      if (!known.has(id)) {
        return "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.";
      }
      waiting.delete(id);
      continue;
    }
    if (waiting.size > 0) break;
    known = new Set(pickObjects(message["tool_calls"]).map((call) => textOf(call["id"])));
    waiting = new Set(known);
  }
  return waiting.size === 0
    ? undefined
    : `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${[...waiting].join(", ")}`;
}
