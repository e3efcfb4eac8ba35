import { asNumber, textOf } from "../../kernel/index.ts";
import { toldIn } from "./told-facts.ts";
import { contentText, isObject, objectsOf, stringsOf, type JsonObject } from "./json.ts";
import { mediaOf } from "./sim-media.ts";
import {
  answerSchemaOf,
  cacheMarkedTokensOf,
  findLastText,
  findUserText,
  promptTokensOf,
  type SimRequest,
  type SimToolChoice,
} from "./sim-request.ts";

/** Reads a messages body that has passed the checks. */
export function readMessagesRequest(body: JsonObject): SimRequest {
  const messages = objectsOf(body["messages"]);
  const lastAnswer = messages.findLastIndex((message) => message["role"] === "assistant");
  const recent = messages.slice(lastAnswer + 1);
  const choice = body["tool_choice"];
  const prompt = [body["system"], messages, body["tools"]];
  // A mark of the whole body is one of everything in it.
  const marked = isObject(body["cache_control"])
    ? { prompt, cache_control: body["cache_control"] }
    : prompt;
  const userText = findUserText(recent) || (recent.length > 0 ? "" : findUserText(messages));
  return {
    model: textOf(body["model"]),
    stream: body["stream"] === true,
    includeUsage: true,
    maxTokens: asNumber(body["max_tokens"]),
    stops: stringsOf(body["stop_sequences"]),
    tools: objectsOf(body["tools"]).map((tool) => ({
      name: textOf(tool["name"]),
      schema: isObject(tool["input_schema"]) ? tool["input_schema"] : {},
    })),
    choice: readChoice(choice),
    parallel: !(isObject(choice) && choice["disable_parallel_tool_use"] === true),
    userText,
    toolResults: recent.flatMap(toolResultsOf),
    media: mediaOf(messages),
    ...toldIn(findLastText(messages), [body["system"], messages]),
    ...answerSchemaOf(schemaOf(body["output_config"])),
    thinking: isObject(body["thinking"]) && body["thinking"]["type"] !== "disabled",
    promptTokens: promptTokensOf(prompt),
    cacheMarkedTokens: cacheMarkedTokensOf(marked),
    hourMarkedTokens: cacheMarkedTokensOf(marked, "1h"),
  };
}

function schemaOf(config: unknown): unknown {
  const format = isObject(config) ? config["format"] : undefined;
  return isObject(format) ? format["schema"] : undefined;
}

function toolResultsOf(message: JsonObject): readonly string[] {
  return objectsOf(message["content"])
    .filter((block) => block["type"] === "tool_result")
    .map((block) => contentText(block["content"]));
}

function readChoice(choice: unknown): SimToolChoice {
  if (!isObject(choice)) return { kind: "auto" };
  const { type, name } = choice;
  if (type === "tool") return { kind: "tool", name: textOf(name) };
  return { kind: type === "none" || type === "any" ? type : "auto" };
}
