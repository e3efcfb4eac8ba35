import { estimateTokens, type SimRequest, type SimTool } from "./sim-request.ts";
import { argumentsFor } from "./tool-arguments.ts";

export interface SimCall {
  readonly name: string;
  readonly arguments: string;
}

export interface SimUsage {
  /** All prompt tokens, including cached tokens and cache writes. */
  readonly prompt: number;
  readonly cached: number;
  readonly cacheWrite: number;
  /** Cache writes that are kept for an hour. They are included in `cacheWrite`. */
  readonly hourWrite: number;
  /** All output tokens, including reasoning. */
  readonly output: number;
  readonly reasoning: number;
}

export type SimFinish = "stop" | "length" | "tools" | "stop_sequence" | "refusal";

/** The simulated model's answer, before a dialect writes it in the format of its wire. */
export interface SimAnswer {
  /** Text of the reasoning; empty if the answer shows none. */
  readonly thinking: string;
  readonly text: string;
  readonly calls: readonly SimCall[];
  readonly finish: SimFinish;
  readonly stopSequence: string | null;
  readonly usage: SimUsage;
}

const CHARS_PER_TOKEN = 4;

/** Answers a chat request. Equal requests get equal answers. */
export function answerTo(request: SimRequest): SimAnswer {
  const budget = request.maxTokens ?? Number.MAX_SAFE_INTEGER;
  const reasoning = Math.min(marker(request, "reasoning"), budget);
  const said = speak(request, budget - reasoning);
  const output = reasoning + estimateTokens(said.text) + callTokens(said.calls);
  return {
    ...said,
    thinking: showsThinking(request, reasoning) ? `Thinking about: ${plainText(request)}` : "",
    usage: { ...promptUsage(request), output, reasoning },
  };
}

type Said = Pick<SimAnswer, "text" | "calls" | "finish" | "stopSequence">;

function speak(request: SimRequest, tokensMax: number): Said {
  const calls = makeCalls(request);
  if (calls.length > 0) {
    const text = request.userText.includes("[preface]") ? "Let me look that up." : "";
    const fits = estimateTokens(text) + callTokens(calls) <= tokensMax;
    if (fits) return { text, calls, finish: "tools", stopSequence: null };
  }
  const cut = cutAtStop(sentence(request), request.stops);
  const charsMax = tokensMax * CHARS_PER_TOKEN;
  if (cut.text.length <= charsMax) return { ...cut, calls: [] };
  return { text: wholeChars(cut.text, charsMax), calls: [], finish: "length", stopSequence: null };
}

function sentence(request: SimRequest): string {
  const { answerSchema, media } = request;
  const isText = answerSchema === undefined;
  const words = marker(request, "words") || (isText ? askedLength(request) : 0);
  const counted = isText ? countedNumbers(request) : undefined;
  if (counted !== undefined) return counted;
  if (words > 0) return Array.from({ length: words }, (_item, n) => `word${n + 1}`).join(" ");
  if (!isText) return JSON.stringify(argumentsFor(answerSchema));
  const said = statement(request);
  if (media.length === 0) return said;
  const sent = media.map(({ kind, digest }) => `You sent ${kind} ${digest}.`);
  return `${said.trimEnd()} ${sent.join(" ")}`;
}

function statement(request: SimRequest): string {
  const { told, toolResults } = request;
  if (told !== undefined) return told;
  const said = plainText(request);
  if (toolResults.length === 0) return `You said: ${said}`;
  const quoted = `The tool answered: ${toolResults.join("; ")}`;
  return said === "" ? quoted : `${quoted} You said: ${said}`;
}

function cutAtStop(
  text: string,
  stops: readonly string[],
): Pick<SimAnswer, "text" | "finish" | "stopSequence"> {
  let at = text.length;
  let hit: string | null = null;
  for (const stop of stops) {
    const found = stop === "" ? -1 : text.indexOf(stop);
    if (found >= 0 && found < at) [at, hit] = [found, stop];
  }
  return {
    text: text.slice(0, at),
    finish: hit === null ? "stop" : "stop_sequence",
    stopSequence: hit,
  };
}

/* Cuts a text to at most `charsMax` characters, never through a surrogate pair. */
function wholeChars(text: string, charsMax: number): string {
  const last = text.charCodeAt(charsMax - 1);
  const splitsPair = last >= 0xd800 && last <= 0xdbff;
  return text.slice(0, splitsPair ? charsMax - 1 : charsMax);
}

function makeCalls(request: SimRequest): readonly SimCall[] {
  const { tools, choice, toolResults } = request;
  if (tools.length === 0 || choice.kind === "none") return [];
  if (choice.kind === "tool") {
    return tools.filter((tool) => tool.name === choice.name).map((tool) => makeCall(tool, request));
  }
  if (toolResults.length > 0 && choice.kind !== "any") return [];
  const wanted = wantedTools(request);
  const chosen = wanted.length === 0 && choice.kind === "any" ? tools.slice(0, 1) : wanted;
  return (request.parallel ? chosen : chosen.slice(0, 1)).map((tool) => makeCall(tool, request));
}

/* The tools that the text names; at least two if it has the word "both" or "parallel". */
function wantedTools(request: SimRequest): readonly SimTool[] {
  const text = request.userText.toLowerCase();
  const named = request.tools.filter((tool) => text.includes(tool.name.toLowerCase()));
  if (named.length > 1 || !/\b(both|parallel)\b/.test(text)) return named;
  const [first = request.tools[0], second = request.tools.find((tool) => tool !== first)] = named;
  if (first === undefined) return [];
  return [first, second ?? first];
}

function makeCall(tool: SimTool, { userText }: SimRequest): SimCall {
  return { name: tool.name, arguments: JSON.stringify(argumentsFor(tool.schema, userText)) };
}

function callTokens(calls: readonly SimCall[]): number {
  return calls.reduce(
    (sum, call) => sum + estimateTokens(call.name) + estimateTokens(call.arguments),
    0,
  );
}

function promptUsage(
  request: SimRequest,
): Pick<SimUsage, "prompt" | "cached" | "cacheWrite" | "hourWrite"> {
  const prompt = Math.max(1, request.promptTokens);
  const cached = Math.min(marker(request, "cached"), prompt);
  const marked = Math.max(request.cacheMarkedTokens, marker(request, "cache_write"));
  const cacheWrite = Math.min(marked, prompt - cached);
  // The tokens of a `[cache_write:N]` marker count as one-hour writes if the request itself marks
  // any part for an hour.
  const isHour = request.hourMarkedTokens > 0 && marked > request.cacheMarkedTokens;
  const hour = isHour ? cacheWrite : request.hourMarkedTokens;
  return { prompt, cached, cacheWrite, hourWrite: Math.min(hour, cacheWrite) };
}

function showsThinking(request: SimRequest, reasoning: number): boolean {
  return request.thinking || (reasoning > 0 && request.userText.includes("[reasoning-text]"));
}

/** The number in a marker such as `[cached:40]` of the last user text; 0 without such a marker. */
function marker(request: SimRequest, name: string): number {
  const match = new RegExp(`\\[${name}:(\\d{1,9})\\]`).exec(request.userText);
  return match === null ? 0 : Number(match[1]);
}

const DIGITS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"];
const LENGTH = new RegExp(String.raw`\babout (${DIGITS.join("|")}) hundred words\b`, "i");

function askedLength({ userText }: SimRequest): number {
  const [, digit = ""] = LENGTH.exec(userText) ?? [];
  return 100 * (DIGITS.indexOf(digit.toLowerCase()) + 1);
}

const COUNT = /\bCount from (\d{1,4}) to (\d{1,4})\b/;

function countedNumbers({ userText }: SimRequest): string | undefined {
  const [, first, last] = COUNT.exec(userText) ?? [];
  if (first === undefined) return undefined;
  const length = Math.max(0, Number(last) - Number(first) + 1);
  return Array.from({ length }, (_item, at) => Number(first) + at).join(" ");
}

function plainText(request: SimRequest): string {
  return request.userText
    .replaceAll(/\[\[fault:.*?\]\]/gs, "")
    .replaceAll(
      /\[(?:cached|cache_write|reasoning|words):\d+\]|\[reasoning-text\]|\[preface\]/g,
      "",
    )
    .trim();
}
