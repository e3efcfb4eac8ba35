import { asNumber, asObject, defined, textOf } from "../../kernel/index.ts";
import {
  toldIn,
  findLastText,
  findUserText,
  estimatePromptTokens,
  type SimRequest,
  type SimToolChoice,
  collectMedia,
} from "./sim-request.ts";
import { contentText, isObject, pickObjects, pickStrings, type JsonObject } from "./json.ts";

/** Reads a body that has passed `chatProblem`, without checking its fields again. */
export function readChatRequest(body: JsonObject): SimRequest {
  const messages = pickObjects(body["messages"]);
  const lastAnswer = messages.findLastIndex((message) => message["role"] === "assistant");
  const recent = messages.slice(lastAnswer + 1);
  const maxTokens = body["max_completion_tokens"] ?? body["max_tokens"];
  const options = body["stream_options"];
  const userText = findUserText(recent) || (recent.length > 0 ? "" : findUserText(messages));
  return {
    model: textOf(body["model"]),
    stream: body["stream"] === true,
    includeUsage: isObject(options) && options["include_usage"] === true,
    maxTokens: asNumber(maxTokens),
    stops: pickStrings([body["stop"]].flat()),
    tools: pickObjects(body["tools"]).flatMap(readTool),
    choice: readChoice(body["tool_choice"]),
    parallel: body["parallel_tool_calls"] !== false,
    userText,
    toolResults: recent
      .filter((message) => message["role"] === "tool")
      .map((message) => contentText(message["content"])),
    media: collectMedia(messages),
    ...defined({
      told: toldIn(findLastText(messages), messages),
      answerSchema: asObject(readSchema(body["response_format"])),
    }),
    thinking: false,
    promptTokens: estimatePromptTokens([messages, body["tools"]]),
    cacheMarkedTokens: 0,
    hourMarkedTokens: 0,
  };
}

function readSchema(format: unknown): unknown {
  const named = isObject(format) ? format["json_schema"] : undefined;
  return isObject(named) ? named["schema"] : undefined;
}

function readTool(tool: JsonObject): SimRequest["tools"] {
  const definition = tool["function"];
  if (!isObject(definition)) return [];
  const { name, parameters } = definition;
  return [{ name: textOf(name), schema: isObject(parameters) ? parameters : {} }];
}

function readChoice(choice: unknown): SimToolChoice {
  if (choice === "none") return { kind: "none" };
  if (choice === "required") return { kind: "any" };
  if (!isObject(choice) || !isObject(choice["function"])) return { kind: "auto" };
  return { kind: "tool", name: textOf(choice["function"]["name"]) };
}
