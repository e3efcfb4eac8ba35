import { untilTaken } from "../books.ts";

/** A task that each client does in its own way; the test names in `matrix.ts` explain it. */
export type Deed = "plain" | "stream" | "streamWithUsage" | "tools" | "structured" | "cancel";

export interface Target {
  readonly url: string;
  readonly key: string;
  readonly model: string;
}

/** An answer as the client sees it; plain JSON, because some clients run in another process. */
export interface Answer {
  readonly text?: string;
  readonly tokens?: { readonly input: number; readonly output: number };
  readonly toolInputs?: readonly unknown[];
  readonly object?: unknown;
}

export interface Outcome extends Answer {
  readonly fault?: Fault;
  /** Number of answered requests, without those answered with 503 because the machine was busy. */
  readonly requests: number;
}

export interface Fault {
  readonly classes: readonly string[];
  readonly status: unknown;
  readonly message: string;
}

/** A driver does not reject: a fault of the client is part of the outcome. */
export type Driver = (deed: Deed, target: Target) => Promise<Outcome>;

export interface Equipped extends Target {
  readonly fetch: typeof fetch;
}

export type Deeds = Partial<Readonly<Record<Deed, (target: Equipped) => Promise<Answer>>>>;

/** Node's own `fetch`, even while a test forbids the global one. */
const realFetch: typeof fetch = globalThis.fetch;

export function driverOf(deeds: Deeds): Driver {
  return async (deed, target) => {
    let requests = 0;
    const counting: typeof fetch = async (...call) => {
      const response = await untilTaken(() => realFetch(...call));
      requests += 1;
      return response;
    };
    const act = deeds[deed];
    if (act === undefined) throw new Error(`this client has no way to do: ${deed}`);
    try {
      const answer = await act({ ...target, fetch: counting });
      return { ...answer, requests };
    } catch (error) {
      return { fault: faultOf(error), requests };
    }
  };
}

/** Reads a stream until its first text, and then leaves it. */
export async function firstText<T>(
  stream: AsyncIterable<T>,
  textIn: (chunk: T) => string | null | undefined,
): Promise<Answer> {
  for await (const chunk of stream) {
    const text = textIn(chunk);
    if (text) return { text };
  }
  return {};
}

export const PROMPT = {
  plain: `${"x".repeat(400)} [cached:40] [reasoning:20]`,
  tools: "Call get_weather",
  structured: "Describe a city",
  cancel: "[words:60] [[fault:slow:10]]",
} as const;

export const TOOL = { name: "get_weather", description: "Tells the weather of a city" } as const;
export const TOOL_RESULT = "21 degrees";
export const OUTPUT_TOKENS_MAX = 512;

export const SCHEMA = {
  type: "object" as const,
  properties: { city: { type: "string" as const } },
  required: ["city"],
  additionalProperties: false as const,
};

function faultOf(error: unknown): Fault {
  // A framework that retries wraps the last error in its own.
  const inner = member(error, "lastError") ?? error;
  const status = member(inner, "status") ?? member(inner, "statusCode");
  return {
    classes: classesOf(inner),
    status,
    message: `${textOf(inner, "message")} ${textOf(inner, "body")}`,
  };
}

/** Returns a text of an error, else "". Some errors have the gateway's message in `body` only. */
function textOf(error: unknown, name: "message" | "body"): string {
  const text = member(error, name);
  return typeof text === "string" ? text : "";
}

function classesOf(error: unknown): string[] {
  const names: string[] = [];
  let shape: unknown = Object.getPrototypeOf(error);
  while (typeof shape === "object" && shape !== null && shape !== Error.prototype) {
    names.push(shape.constructor.name);
    shape = Object.getPrototypeOf(shape);
  }
  const name = member(error, "name");
  return typeof name === "string" ? [...names, name] : names;
}

function member(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}
