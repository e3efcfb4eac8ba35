import type { Model } from "../../../../../src/account/console-api/contract.ts";
import { member, text } from "../gateway.ts";
import type { ChatSettings, Routing } from "./chat-types.ts";

const TOOLS_MAX = 64;
const JSON_CHARS_MAX = 100_000;
const TOOL_NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** What a JSON field contains: a value, or the problem with it. A blank field has neither. */
export interface Read<T> {
  readonly value?: T;
  readonly problem?: string;
}

/**
 * Builds the parts of a request that are no simple parameters: tools, schema, routing, and
 * reasoning switched off.
 */
export function buildStructures(model: Model, settings: ChatSettings): Record<string, unknown> {
  const { value: tools } = readTools(settings.tools ?? "");
  const { value: schema } = readSchema(settings.schema ?? "");
  const provider = routingBody(settings.routing);
  return {
    ...(tools !== undefined && takes(model, "tools") ? { tools } : {}),
    ...(schema !== undefined && takes(model, "response_format")
      ? {
          response_format: {
            type: "json_schema",
            json_schema: { name: "answer", schema, strict: true },
          },
        }
      : {}),
    ...(settings.isReasoningOff === true ? reasoningOff(model) : {}),
    ...(provider === undefined ? {} : { provider }),
  };
}

/** Says in a sentence which setting first prevents sending; undefined if none does. */
export function settingsProblem(settings: ChatSettings): string | undefined {
  const tools = readTools(settings.tools ?? "").problem;
  if (tools !== undefined) return `Tools: ${tools}`;
  const schema = readSchema(settings.schema ?? "").problem;
  return schema === undefined ? undefined : `JSON schema: ${schema}`;
}

export function takes(model: Model, parameter: string): boolean {
  return model.parameters[parameter] !== undefined;
}

export function canReasonOff(model: Model): boolean {
  return Object.keys(reasoningOff(model)).length > 0;
}

function reasoningOff({ parameters }: Model): Record<string, unknown> {
  if (parameters["reasoning_effort"]?.values?.includes("none") === true) {
    return { reasoning_effort: "none" };
  }
  return parameters["thinking"] === undefined ? {} : { thinking: { type: "disabled" } };
}

/** Reads tools in chat-completions format. Converts tools in the Messages API's format. */
export function readTools(typed: string): Read<readonly object[]> {
  const { value, problem } = readJson(typed);
  if (problem !== undefined || value === undefined) return { ...(problem && { problem }) };
  if (!Array.isArray(value)) return { problem: "Enter a list of tools: [ … ]." };
  if (value.length > TOOLS_MAX) return { problem: `Enter at most ${TOOLS_MAX} tools.` };
  const tools: object[] = [];
  const names = new Set<string>();
  for (const [at, each] of value.entries()) {
    const bare: unknown = member(each, "function") ?? each;
    const name = text(member(bare, "name")) ?? "";
    if (!TOOL_NAME.test(name)) {
      return { problem: `Tool ${at + 1} needs a name of letters, digits, "_" and "-".` };
    }
    if (names.has(name)) return { problem: `Two tools are named ${name}.` };
    names.add(name);
    const parameters = member(bare, "parameters") ?? member(bare, "input_schema");
    if (parameters !== undefined && !isObject(parameters)) {
      return { problem: `The parameters of ${name} must be a JSON schema (an object).` };
    }
    const description = text(member(bare, "description"));
    tools.push({
      type: "function",
      function: {
        name,
        ...(description === undefined ? {} : { description }),
        parameters: parameters ?? { type: "object", properties: {} },
      },
    });
  }
  return tools.length === 0 ? {} : { value: tools };
}

export function readSchema(typed: string): Read<object> {
  const { value, problem } = readJson(typed);
  if (problem !== undefined || value === undefined) return { ...(problem && { problem }) };
  return isObject(value)
    ? { value }
    : { problem: 'Write one JSON schema, such as {"type": "object"}.' };
}

function readJson(typed: string): Read<unknown> {
  if (typed.trim() === "") return {};
  if (typed.length > JSON_CHARS_MAX) return { problem: "This is too long." };
  try {
    return { value: JSON.parse(typed) as unknown };
  } catch {
    return { problem: "This is not valid JSON." };
  }
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Builds the `provider` object of a request. Undefined means the gateway's default routing. */
export function routingBody(routing: Routing | undefined): object | undefined {
  if (routing === undefined) return undefined;
  const { order, only, ignore, isFirstOnly, isStrict } = routing;
  const body = {
    ...(order === undefined || order.length === 0 ? {} : { order }),
    ...(only === undefined || only.length === 0 ? {} : { only }),
    ...(ignore === undefined || ignore.length === 0 ? {} : { ignore }),
    ...(isFirstOnly === true ? { allow_fallbacks: false } : {}),
    ...(isStrict === true ? { require_parameters: true } : {}),
  };
  return Object.keys(body).length === 0 ? undefined : body;
}
