import { textOf } from "../../../src/kernel/index.ts";
import {
  isAbsent,
  isObject,
  pickObjects,
  type JsonObject,
} from "../../../src/dev/simulator/json.ts";
import type { RequestHeaders, SimError } from "../../../src/dev/simulator/sim-error.ts";
import type { StrictProvider } from "./strict-providers.ts";

type Complaint = string | undefined;

/** Returns why the provider refuses a body; undefined if it accepts it. */
export function findRefusal(
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
  for (const [index, message] of pickObjects(messages).entries()) {
    const complaint = messageComplaint(provider, message);
    if (complaint !== undefined) return `messages.${index}: ${complaint}`;
  }
  const isMarked = provider.refusesMarks === true && [messages, tools, system].some(hasMark);
  if (isMarked) return "Extra inputs are not permitted: cache_control";
  const isStrict = pickObjects(tools).some(
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
  if (signs === true && pickObjects(body["messages"]).some(isUnsigned)) {
    return "Function call is missing a thought_signature in functionCall parts";
  }
  if (wantsCeiling !== true) return undefined;
  const { provider } = body;
  const ceiling = isObject(provider) ? provider["max_price"] : undefined;
  const isCeiling = isObject(ceiling) && textOf(ceiling["prompt"]) !== "";
  return isCeiling ? undefined : "the simulated router is asked for any price";
}

/** Returns true if a message has calls of which the first is unsigned; others need no signature. */
function isUnsigned({ tool_calls: calls }: JsonObject): boolean {
  const [first] = pickObjects(calls);
  if (first === undefined) return false;
  const extra = first["extra_content"];
  const google = isObject(extra) ? extra["google"] : undefined;
  return !isObject(google) || textOf(google["thought_signature"]) === "";
}
