import { asNumber, asObject, defined, textOf } from "../../kernel/index.ts";
import {
  toldIn,
  estimateMarkedTokens,
  findLastText,
  findUserText,
  estimatePromptTokens,
  type SimRequest,
  type SimToolChoice,
  collectMedia,
} from "./sim-request.ts";
import { contentText, isObject, pickObjects, pickStrings, type JsonObject } from "./json.ts";

/** Reads a body that has passed `messagesProblem`, without checking its fields again. */
export function readMessagesRequest(body: JsonObject): SimRequest {
  const messages = pickObjects(body["messages"]);
  const lastAnswer = messages.findLastIndex((message) => message["role"] === "assistant");
  const recent = messages.slice(lastAnswer + 1);
  const choice = body["tool_choice"];
  const prompt = [body["system"], messages, body["tools"]];
  // A cache mark on the request body itself covers the whole prompt.
  const marked = isObject(body["cache_control"])
    ? { prompt, cache_control: body["cache_control"] }
    : prompt;
  const userText = findUserText(recent) || (recent.length > 0 ? "" : findUserText(messages));
  return {
    model: textOf(body["model"]),
    stream: body["stream"] === true,
    includeUsage: true,
    maxTokens: asNumber(body["max_tokens"]),
    stops: pickStrings(body["stop_sequences"]),
    tools: pickObjects(body["tools"]).map((tool) => ({
      name: textOf(tool["name"]),
      schema: isObject(tool["input_schema"]) ? tool["input_schema"] : {},
    })),
    choice: readChoice(choice),
    parallel: !(isObject(choice) && choice["disable_parallel_tool_use"] === true),
    userText,
    toolResults: recent.flatMap(listToolResults),
    media: collectMedia(messages),
    ...defined({
      told: toldIn(findLastText(messages), [body["system"], messages]),
      answerSchema: asObject(readSchema(body["output_config"])),
    }),
    thinking: isObject(body["thinking"]) && body["thinking"]["type"] !== "disabled",
    promptTokens: estimatePromptTokens(prompt),
    cacheMarkedTokens: estimateMarkedTokens(marked),
    hourMarkedTokens: estimateMarkedTokens(marked, "1h"),
  };
}

function readSchema(config: unknown): unknown {
  const format = isObject(config) ? config["format"] : undefined;
  return isObject(format) ? format["schema"] : undefined;
}

function listToolResults(message: JsonObject): readonly string[] {
  return pickObjects(message["content"])
    .filter((block) => block["type"] === "tool_result")
    .map((block) => contentText(block["content"]));
}

function readChoice(choice: unknown): SimToolChoice {
  if (!isObject(choice)) return { kind: "auto" };
  const { type, name } = choice;
  if (type === "tool") return { kind: "tool", name: textOf(name) };
  return { kind: type === "none" || type === "any" ? type : "auto" };
}
