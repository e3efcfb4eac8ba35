import {
  ANSWER_CALLS_MAX,
  asObject,
  findElements,
  findMember,
  JsonProgress,
  type Span,
  textOf,
  tryParse,
  tryPrint,
  withMember,
  withoutMember,
} from "../../../kernel/index.ts";
import type { Emit } from "../neutral/chat-event.ts";
import type { AnswerReading } from "../neutral/provider-answer.ts";
import { compactObject, rootSpan, withRootMember } from "../neutral/relayed-text.ts";
import { ownCallId, signedId } from "../neutral/tool-calls.ts";
import type { Fields } from "../neutral/usage-report.ts";
import { sseDataText } from "../sse/sse.ts";
import { findHeld, type Holder, lastChunk, withHeldMember } from "./chunks.ts";

interface SaidCall {
  readonly id: string;
  readonly name: string;
  /** True as long as the call has no arguments, not even `{}`. */
  readonly isBare: boolean;
}

/**
 * Corrects fragments of tool calls for official clients, which join them by index and concatenate
 * all texts: a shared index, a repeated id or name, or arguments that are an object would spoil a
 * call. Clients throw if a call has no type, and cannot answer a call without an id. Correct
 * fragments are passed on byte for byte.
 */
export class CallFragments {
  readonly #reader: ToolCallReader;
  /** What the client got of each call. */
  readonly #said: (SaidCall | undefined)[] = [];
  readonly #idTail: string;
  /** What the last chunk did with the arguments `{}`; "none" for a chunk of several fragments. */
  braces: Braces = "none";

  constructor(reading: AnswerReading, idTail: string) {
    this.#reader = new ToolCallReader(reading);
    this.#idTail = idTail;
  }

  mend(chunk: string, calls: readonly unknown[]): string {
    const mends = calls.map((fragment) => this.#findMend(fragment));
    this.braces = calls.length === 1 ? this.#reader.braces : "none";
    if (mends.every((mend) => mend === undefined)) return chunk;
    return editEach(chunk, callSpans(chunk, "delta"), (text, at) => mends[at]?.(text) ?? text);
  }

  get hasBareCalls(): boolean {
    return this.#said.some(isBareFunction);
  }

  /** A chunk with `{}` for calls without arguments: clients parse them, and no text is no JSON. */
  bareText(head: string): string {
    const bare = this.#said.flatMap((said, call) =>
      isBareFunction(said) ? [`{"index":${call},"function":{"arguments":"{}"}}`] : [],
    );
    if (bare.length === 0) return "";
    const chunk = lastChunk(head, null);
    return sseDataText(withHeldMember(chunk, "delta", "tool_calls", `[${bare.join(",")}]`));
  }

  /** Undefined for a fragment to pass on unchanged: correct, no object, or of one call too many. */
  #findMend(fragment: unknown): ((text: string) => string) | undefined {
    const call = this.#reader.read(fragment, () => undefined);
    const fields = asObject(fragment);
    if (call === undefined || fields === undefined) return undefined;
    const id = textOf(fields["id"]);
    const given = asObject(fields["function"]);
    const name = textOf(given?.["name"]);
    const said = this.#said[call];
    const missingId =
      said === undefined && id === "" ? ownCallId("call_", this.#idTail, call) : undefined;
    const givesObject = hasObject(fields);
    const isEmpty = !givesObject && textOf(given?.["arguments"]).trim() === "";
    const isBare = isEmpty && said?.isBare !== false;
    this.#said[call] = { id: said?.id || missingId || id, name: said?.name || name, isBare };
    const hasWrongIndex = fields["index"] !== call;
    const lacksType = said === undefined && lacksCallType(fields);
    // Only the first id of a call is kept, because some providers send a new id with each fragment.
    const repeatsId = id !== "" && said !== undefined && said.id !== "";
    const repeatsName = name !== "" && said?.name === name;
    const isWrong = missingId !== undefined || givesObject || hasWrongIndex || lacksType;
    if (!isWrong && !repeatsId && !repeatsName) return undefined;
    return (text) => {
      let mended = text;
      const fn = repeatsName ? findMember(mended, 0, "function") : undefined;
      if (fn !== undefined) mended = withoutMember(mended, fn, "name");
      if (repeatsId) mended = withoutMember(mended, rootSpan(mended), "id");
      if (missingId !== undefined) mended = withCallId(mended, missingId);
      if (lacksType) mended = withCallType(mended);
      if (givesObject) mended = withArguments(mended);
      if (!hasWrongIndex) return mended;
      return withRootMember(mended, "index", String(call));
    };
  }
}

/** True for a named function, which a call of another type (`custom`) does not have. */
function isBareFunction(said: SaidCall | undefined): boolean {
  return said?.isBare === true && said.name !== "";
}

/**
 * Adds missing ids and types and writes arguments as text: helpers of official clients read all
 * three unchecked. Empty text stays if the answer was cut, so that no client runs a cut call.
 */
export function withWholeCalls(
  answer: string,
  calls: unknown,
  { idTail, isCut }: { readonly idTail: string; readonly isCut: boolean },
): string {
  const list = (Array.isArray(calls) ? calls : []).map(asObject);
  const lacks = (call: Fields): boolean => lacksArguments(call, isCut);
  const isWhole = (call: Fields | undefined): boolean =>
    call === undefined || (textOf(call["id"]) !== "" && !lacksCallType(call) && !lacks(call));
  if (list.every(isWhole)) return answer;
  return editEach(answer, callSpans(answer, "message"), (text, at) => {
    const call = list[at];
    if (call === undefined) return text;
    const named =
      textOf(call["id"]) === "" ? withCallId(text, ownCallId("call_", idTail, at)) : text;
    const typed = lacksCallType(call) ? withCallType(named) : named;
    return lacks(call) ? withArguments(typed) : typed;
  });
}

/** True if the arguments of a whole call are missing, are not a string, or are an empty one. */
function lacksArguments(call: Fields, isCut: boolean): boolean {
  const fn = asObject(call["function"]);
  if (fn === undefined) return false;
  const { arguments: given } = fn;
  return typeof given !== "string" || (!isCut && given.trim() === "");
}

/**
 * Arguments that are an object become JSON text, taken from `text` because a parsed number can have
 * lost digits.
 */
export function callsIn(
  text: string,
  holder: Holder,
  calls: readonly unknown[],
): readonly unknown[] {
  if (!calls.some(hasObject)) return calls;
  const spans = callSpans(text, holder);
  return calls.map((call, at) => {
    const span = hasObject(call) ? spans[at] : undefined;
    if (span === undefined) return call;
    return tryParse(withArguments(text.slice(span.start, span.end)))?.value;
  });
}

function hasObject(call: unknown): boolean {
  return asObject(asObject(asObject(call)?.["function"])?.["arguments"]) !== undefined;
}

function callSpans(text: string, holder: Holder): readonly Span[] {
  const object = findHeld(text, holder);
  const calls = object && findMember(text, object.start, "tool_calls");
  return calls === undefined ? [] : findElements(text, calls.start);
}

function editEach(
  text: string,
  spans: readonly Span[],
  edit: (part: string, at: number) => string,
): string {
  let edited = "";
  let copiedTo = 0;
  for (const [at, { start, end }] of spans.entries()) {
    edited += text.slice(copiedTo, start) + edit(text.slice(start, end), at);
    copiedTo = end;
  }
  return edited + text.slice(copiedTo);
}

function lacksCallType(call: Fields): boolean {
  return textOf(call["type"]) === "" && asObject(call["function"]) !== undefined;
}

function withCallId(call: string, id: string): string {
  return withRootMember(call, "id", JSON.stringify(id));
}

/** Empties the arguments in a chunk with one fragment, in place of which the next one has others. */
export function withoutBraces(chunk: string): string {
  const [call] = callSpans(chunk, "delta");
  const fn = call && findMember(chunk, call.start, "function");
  return fn === undefined ? chunk : withMember(chunk, fn, { key: "arguments", json: '""' });
}

/** Turns an object of arguments into its JSON text, digit for digit; anything else into `{}`. */
function withArguments(call: string): string {
  const fn = findMember(call, 0, "function");
  if (fn === undefined) return call;
  const given = findMember(call, fn.start, "arguments");
  const json = JSON.stringify(compactObject(call, given));
  return withMember(call, fn, { key: "arguments", json });
}

function withCallType(call: string): string {
  return withRootMember(call, "type", '"function"');
}

class OpenCall {
  readonly call: number;
  id = "";
  name = "";
  signature = "";
  isStarted = false;
  held = "";
  /** Once the arguments are complete, a named fragment without an index starts another call. */
  progress = new JsonProgress();

  constructor(call: number) {
    this.call = call;
  }
}

/** A fragment begins a pause with `{}`, adds no arguments to them, or has others in their place. */
export type Braces = "none" | "held" | "kept" | "replaced";

interface Fragment {
  readonly id: string;
  readonly name: string;
  readonly json: string;
}

/**
 * Servers differ in all parts of a fragment: the index may be missing or always 0, the id or the
 * name may come late or in every fragment. The time for a fragment does not depend on earlier ones.
 */
export class ToolCallReader {
  readonly #byIndex = new Map<number, OpenCall>();
  readonly #byId = new Map<string, OpenCall>();
  readonly #calls: OpenCall[] = [];
  readonly #reading: AnswerReading;
  /** The call whose arguments are `{}` so far, which some servers send before the real ones. */
  #braced: OpenCall | undefined;
  /** What the last fragment did with them. */
  braces: Braces = "none";

  constructor(reading: AnswerReading) {
    this.#reading = reading;
  }

  /** Undefined if the fragment is not an object, or if there are too many calls. */
  read(fragment: unknown, emit: Emit): number | undefined {
    this.braces = "none";
    const fields = asObject(fragment);
    const fn = asObject(fields?.["function"]);
    if (fields === undefined || this.hasTooManyCalls) return undefined;
    const id = textOf(fields["id"]);
    const name = textOf(fn?.["name"]);
    const json = argumentText(fn?.["arguments"]);
    const call = this.#find(fields["index"], { id, name, json });
    if (call !== this.#braced) this.flush(emit);
    if (call.id === "" && !call.isStarted) this.#name(call, id);
    if (call.name === "") call.name = name;
    if (this.#reading.toolSignature !== undefined) call.signature ||= readSignature(fields);
    this.#advance(call, json, emit);
    return call.call;
  }

  /** Sends the `{}` that was held: no other arguments follow it. */
  flush(emit: Emit): void {
    const call = this.#braced;
    this.#braced = undefined;
    if (call !== undefined) this.#send(call, emit);
  }

  get hasCalls(): boolean {
    return this.#calls.length > 0;
  }

  /** If true, later fragments are ignored. */
  get hasTooManyCalls(): boolean {
    return this.#calls.length > ANSWER_CALLS_MAX;
  }

  /** True if a call has arguments but no name, so it cannot be passed on. */
  hasNamelessCall(): boolean {
    return this.#calls.some((call) => !call.isStarted && call.held !== "");
  }

  #find(index: unknown, fragment: Fragment): OpenCall {
    if (typeof index !== "number") return this.#findWithoutIndex(fragment);
    const known = this.#byIndex.get(index);
    if (known !== undefined && !isAnother(known, fragment)) return known;
    const opened = this.#open();
    this.#byIndex.set(index, opened);
    return opened;
  }

  #findWithoutIndex({ id, name }: Fragment): OpenCall {
    const last = this.#calls.at(-1);
    if (last === undefined) return this.#open();
    if (id !== "") return this.#byId.get(id) ?? this.#open();
    const isNext = name !== "" && last.isStarted && last.progress.isWhole;
    return isNext ? this.#open() : last;
  }

  #name(call: OpenCall, id: string): void {
    call.id = id;
    if (id !== "" && !this.#byId.has(id)) this.#byId.set(id, call);
  }

  #open(): OpenCall {
    const call = new OpenCall(this.#calls.length);
    this.#calls.push(call);
    return call;
  }

  #advance(call: OpenCall, json: string, emit: Emit): void {
    if (call === this.#braced && (json === "{}" || json.trim() === "")) {
      this.braces = "kept";
      return;
    }
    if (call.held === "{}" && json.trimStart().startsWith("{")) {
      call.held = "";
      call.progress = new JsonProgress();
      this.braces = "replaced";
    }
    call.progress.accept(json);
    call.held += json;
    if (call.name === "") return;
    if (!call.isStarted) {
      call.isStarted = true;
      const id = call.signature === "" ? call.id : signedId(call);
      emit({ type: "tool_start", call: call.call, id, name: call.name });
    }
    this.#braced = call.held === "{}" && call.progress.isWhole ? call : undefined;
    if (this.#braced === undefined) this.#send(call, emit);
    else this.braces = "held";
  }

  #send(call: OpenCall, emit: Emit): void {
    const json = call.held;
    call.held = "";
    if (json !== "") emit({ type: "tool_arguments", call: call.call, json });
  }
}

/**
 * A named fragment at a used index is a new call if its id differs, or if it has arguments and no
 * id while the arguments of the known call are complete.
 */
function isAnother(known: OpenCall, { id, name, json }: Fragment): boolean {
  if (name === "") return false;
  if (id === "") return known.progress.isWhole && json.trim() !== "";
  return known.id !== "" && id !== known.id;
}

function argumentText(value: unknown): string {
  if (typeof value === "string") return value;
  // Some servers send the arguments as an object instead of its JSON text.
  return asObject(value) === undefined ? "" : (tryPrint(value) ?? "");
}

/**
 * Google accepts this in place of a lost signature, and answers 400 to a call of the current turn
 * without any (ai.google.dev, thought signatures, read 22 November 2026).
 */
export const PLACEHOLDER_SIGNATURE = "skip_thought_signature_validator";

export function readSignature(call: Fields): string {
  const google = asObject(asObject(call["extra_content"])?.["google"]);
  return textOf(google?.["thought_signature"]);
}

/** The value of `extra_content`, the member of a call that sends a signature back. */
export function signatureJson(signature: string): string {
  return `{"google":{"thought_signature":${JSON.stringify(signature)}}}`;
}
