import { asNumber, textOf } from "../../kernel/index.ts";
import { toldIn } from "./told-facts.ts";
import { contentText, isObject, objectsOf, stringsOf, type JsonObject } from "./json.ts";
import { mediaOf } from "./sim-media.ts";
import {
  answerSchemaOf,
  findLastText,
  findUserText,
  promptTokensOf,
  type SimRequest,
  type SimToolChoice,
} from "./sim-request.ts";

/** Reads a chat-completions body that has passed the checks. */
export function readChatRequest(body: JsonObject): SimRequest {
  const messages = objectsOf(body["messages"]);
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
    stops: typeof body["stop"] === "string" ? [body["stop"]] : stringsOf(body["stop"]),
    tools: objectsOf(body["tools"]).flatMap(readTool),
    choice: readChoice(body["tool_choice"]),
    parallel: body["parallel_tool_calls"] !== false,
    userText,
    toolResults: recent
      .filter((message) => message["role"] === "tool")
      .map((message) => contentText(message["content"])),
    media: mediaOf(messages),
    ...toldIn(findLastText(messages), messages),
    ...answerSchemaOf(schemaOf(body["response_format"])),
    thinking: false,
    promptTokens: promptTokensOf([messages, body["tools"]]),
    cacheMarkedTokens: 0,
    hourMarkedTokens: 0,
  };
}

function schemaOf(format: unknown): unknown {
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
