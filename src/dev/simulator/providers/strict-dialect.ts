import type { SimAnswer } from "../answer.ts";
import type { Dialect, Envelope, Frame } from "../dialect.ts";
import type { RequestHeaders, SimError } from "../host-errors.ts";
import { isAbsent, isObject, type JsonObject, objectsOf, textOf } from "../json.ts";
import { STRICT_PROVIDERS, type StrictProvider } from "./strict-providers.ts";

/** Ids of the providers whose strictness can be played. */
export function strictProviderIds(): readonly string[] {
  return Object.keys(STRICT_PROVIDERS);
}

/** The id in a path such as `/as-mistral/v1/models`; undefined: none. */
export function providerOfPath(path: string): string | undefined {
  return /^\/as-([a-z0-9-]+)\//.exec(path)?.[1];
}

/** A dialect as this provider speaks it; the dialect itself where it speaks another one. */
export function strictDialect(dialect: Dialect, wire: string, id: string | undefined): Dialect {
  const provider = id === undefined ? undefined : STRICT_PROVIDERS[id];
  if (provider?.wire !== wire) return dialect;
  return {
    ...dialect,
    problemOf: (body, headers) =>
      refusalOf(provider, body, headers) ?? dialect.problemOf(usualForm(provider, body), headers),
    read: (body) => {
      const read = dialect.read(usualForm(provider, body));
      const isUnasked = provider.usage !== undefined && read.stream;
      return isUnasked ? { ...read, includeUsage: true } : read;
    },
    json: (answer, envelope) =>
      altered(
        provider,
        dialect.json(visible(provider, answer), gapped(provider, answer, envelope)),
      ),
    frames: (answer, envelope) => {
      const shown = visible(provider, answer);
      const frames = dialect.frames(shown, gapped(provider, answer, envelope));
      return provider.wire === "wire_a" ? alteredFrames(provider, frames) : frames;
    },
  };
}

/** What the provider understands, in the form of the wire's own checks. */
function usualForm(provider: StrictProvider, body: JsonObject): JsonObject {
  if (provider.wire === "wire_b") return body;
  const { random_seed: seed, provider: _routing, ...rest } = body;
  const tools = withoutMarks(rest["tools"]);
  return {
    ...rest,
    ...(seed !== undefined && { seed }),
    ...(rest["tool_choice"] === "any" && { tool_choice: "required" }),
    messages: withoutExtras(withoutMarks(rest["messages"])),
    ...(tools !== undefined && { tools }),
  };
}

/** Those who do not refuse the marks do not mind them. */
function withoutMarks(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutMarks);
  if (!isObject(value)) return value;
  const { cache_control: _mark, ...rest } = value;
  return Object.fromEntries(Object.entries(rest).map(([key, each]) => [key, withoutMarks(each)]));
}

function withoutExtras(messages: unknown): unknown {
  if (!Array.isArray(messages)) return messages;
  return messages.map((message: unknown) => {
    if (!isObject(message) || message["tool_calls"] === undefined) return message;
    const calls = objectsOf(message["tool_calls"]).map(
      ({ extra_content: _signature, ...call }) => call,
    );
    return { ...message, tool_calls: calls };
  });
}

/** The thoughts of this provider are in its total alone. */
const HIDDEN_TOKENS = 40;

function visible({ hidesReasoning }: StrictProvider, answer: SimAnswer): SimAnswer {
  return hidesReasoning === true ? { ...answer, thinking: "" } : answer;
}

function gapped(provider: StrictProvider, { usage }: SimAnswer, envelope: Envelope): Envelope {
  if (provider.hidesReasoning !== true || envelope.usage === null) return envelope;
  const total_tokens = usage.prompt + usage.output + HIDDEN_TOKENS;
  return { ...envelope, usage: { total_tokens, ...envelope.usage } };
}

function altered(provider: StrictProvider, completion: JsonObject): JsonObject {
  if (provider.wire === "wire_b") return completion;
  const choices = objectsOf(completion["choices"]).map((choice) => {
    const { message } = choice;
    if (!isObject(message) || message["tool_calls"] === undefined) return choice;
    const calls = objectsOf(message["tool_calls"]).map((call, index) =>
      signed(provider, call, index),
    );
    const finish = provider.silentCalls === true ? { finish_reason: "" } : {};
    return { ...choice, ...finish, message: { ...message, tool_calls: calls } };
  });
  return { ...completion, choices };
}

/** The first of parallel calls alone is signed. */
function signed({ signs }: StrictProvider, call: JsonObject, index: number): JsonObject {
  if (signs !== true || index > 0) return call;
  const text = `thought of ${JSON.stringify(call["function"])}`;
  const thought_signature = Buffer.from(text).toString("base64");
  return { ...call, extra_content: { google: { thought_signature } } };
}

function alteredFrames(provider: StrictProvider, frames: readonly Frame[]): readonly Frame[] {
  const usage = frames.find(({ kind }) => kind === "usage");
  const isInChoice = provider.usage === "in-choice";
  return frames.flatMap((frame) => {
    if (isInChoice && frame.kind === "usage") return [];
    if (frame.kind !== "content" && frame.kind !== "finish") return [frame];
    const chunk = JSON.parse(frame.data) as JsonObject;
    const [choice] = objectsOf(chunk["choices"]);
    if (choice === undefined) return [frame];
    const changed = alteredChoice(provider, choice, frame.kind === "finish" ? usage : undefined);
    const { usage: _slot, ...rest } = chunk;
    return [
      { ...frame, data: JSON.stringify({ ...(isInChoice ? rest : chunk), choices: [changed] }) },
    ];
  });
}

function alteredChoice(
  provider: StrictProvider,
  choice: JsonObject,
  usage: Frame | undefined,
): JsonObject {
  const { delta, finish_reason: finish } = choice;
  const isSilent = provider.silentCalls === true && finish === "tool_calls";
  const reported =
    usage === undefined ? undefined : (JSON.parse(usage.data) as JsonObject)["usage"];
  const isInChoice = provider.usage === "in-choice" && reported !== undefined;
  const calls = isObject(delta) ? objectsOf(delta["tool_calls"]) : [];
  const [call] = calls;
  const isOpening = call !== undefined && call["id"] !== undefined;
  const opened = isOpening ? signed(provider, call, Number(call["index"])) : undefined;
  return {
    ...choice,
    ...(isSilent && { finish_reason: "" }),
    ...(isInChoice && { usage: reported }),
    ...(opened !== undefined && isObject(delta) && { delta: { ...delta, tool_calls: [opened] } }),
  };
}

type Complaint = string | undefined;

/** The first thing that this provider refuses and others of its wire may not. */
function refusalOf(
  provider: StrictProvider,
  body: JsonObject,
  headers: RequestHeaders,
): SimError | undefined {
  if (provider.auth !== undefined && isAbsent(headers[provider.auth])) {
    return { status: 401, message: `the key is expected in the header ${provider.auth}` };
  }
  if (provider.needsUserAgent === true && isAbsent(headers["user-agent"])) {
    return { status: 403, message: "requests without a user agent are blocked" };
  }
  const unknown = fieldComplaint(provider, body) ?? messagesComplaint(provider, body);
  if (unknown !== undefined) return { status: provider.status ?? 400, message: unknown };
  const other = valueComplaint(provider, body);
  return other === undefined ? undefined : { status: 400, message: other };
}

function fieldComplaint({ knows, refuses }: StrictProvider, body: JsonObject): Complaint {
  const unknown = Object.keys(body).find(
    (key) => refuses?.has(key) === true || knows?.has(key) === false,
  );
  return unknown === undefined ? undefined : `Extra inputs are not permitted: ${unknown}`;
}

function messagesComplaint(provider: StrictProvider, body: JsonObject): Complaint {
  const { messages, tools, system } = body;
  for (const [index, message] of objectsOf(messages).entries()) {
    const complaint = messageComplaint(provider, message);
    if (complaint !== undefined) return `messages.${index}: ${complaint}`;
  }
  const isMarked = provider.refusesMarks === true && [messages, tools, system].some(hasMark);
  if (isMarked) return "Extra inputs are not permitted: cache_control";
  const isStrict = objectsOf(tools).some(
    (tool) => isObject(tool["function"]) && tool["function"]["strict"] !== undefined,
  );
  return isStrict && provider.refusesStrict === true
    ? "Extra inputs are not permitted: tools.function.strict"
    : undefined;
}

function messageComplaint(provider: StrictProvider, message: JsonObject): Complaint {
  const extra = Object.keys(message).find((key) => provider.refusesInMessages?.has(key));
  if (extra !== undefined) return `property '${extra}' is unsupported`;
  if (provider.refusesNulls === true && hasNull(message)) return "a property is null";
  const { role, content } = message;
  if (role === "developer" && provider.refusesDeveloper === true) {
    return "unknown variant `developer`, expected one of `system`, `user`, `assistant`, `tool`";
  }
  const isInParts = role === "tool" && typeof content !== "string";
  return isInParts && provider.refusesPartsInResults === true
    ? "content of a tool message must be a string"
    : undefined;
}

function hasMark(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasMark);
  if (!isObject(value)) return false;
  return value["cache_control"] !== undefined || Object.values(value).some(hasMark);
}

function hasNull(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasNull);
  return isObject(value) && Object.values(value).some((each) => each === null || hasNull(each));
}

function valueComplaint(provider: StrictProvider, body: JsonObject): Complaint {
  const { temperature, stream } = body;
  const { temperatureMax = 2, wholeMax = Number.POSITIVE_INFINITY } = provider;
  if (typeof temperature === "number" && temperature > temperatureMax) {
    return `temperature must be at most ${temperatureMax}`;
  }
  const bound = body["max_completion_tokens"] ?? body["max_tokens"];
  if (stream !== true && typeof bound === "number" && bound > wholeMax) {
    return `requests with max_tokens > ${wholeMax} must have stream=true`;
  }
  return choiceComplaint(provider, body["tool_choice"]) ?? ownComplaint(provider, body);
}

function choiceComplaint({ choices }: StrictProvider, choice: unknown): Complaint {
  if (choices === undefined || isAbsent(choice)) return undefined;
  const type = isObject(choice) ? textOf(choice["type"]) : textOf(choice);
  const word = type === "function" || type === "tool" ? "named" : type;
  return choices.has(word) ? undefined : `tool_choice: unexpected value '${word}'`;
}

function ownComplaint({ signs, wantsCeiling }: StrictProvider, body: JsonObject): Complaint {
  if (signs === true && objectsOf(body["messages"]).some(isUnsigned)) {
    return "Function call is missing a thought_signature in functionCall parts";
  }
  if (wantsCeiling !== true) return undefined;
  const { provider } = body;
  const ceiling = isObject(provider) ? provider["max_price"] : undefined;
  const isCeiling = isObject(ceiling) && textOf(ceiling["prompt"]) !== "";
  return isCeiling ? undefined : "the simulated router is asked for any price";
}

/** The first of a message's calls has to be signed. */
function isUnsigned({ tool_calls: calls }: JsonObject): boolean {
  const [first] = objectsOf(calls);
  if (first === undefined) return false;
  const extra = first["extra_content"];
  const google = isObject(extra) ? extra["google"] : undefined;
  return !isObject(google) || textOf(google["thought_signature"]) === "";
}
