import {
  asObject,
  findElements,
  findMember,
  findPath,
  type Span,
  textOf,
  withMember,
  withoutMember,
} from "../../../kernel/index.ts";
import type { AnswerReading } from "../neutral/answer-reading.ts";
import { ToolCallReader } from "./tool-call-reader.ts";

type Fields = Readonly<Record<string, unknown>>;

interface Said {
  readonly id: string;
  readonly name: string;
}

/** What is wrong with one fragment of a call. */
interface Flaw {
  /** The index that the fragment should have. */
  readonly call: number;
  readonly hasWrongIndex: boolean;
  readonly repeatsId: boolean;
  readonly repeatsName: boolean;
}

/**
 * Fragments of calls for a client of the same wire. Official clients put fragments together by
 * index and join the texts of all other members, so calls that share an index run together, and an
 * id or a name that is repeated grows. Fragments that are right stay the provider's bytes.
 */
export class CallFragments {
  readonly #reader: ToolCallReader;
  readonly #said: (Said | undefined)[] = [];

  constructor(reading: AnswerReading) {
    this.#reader = new ToolCallReader(reading);
  }

  mend(chunk: string, delta: Fields): string {
    const calls = delta["tool_calls"];
    if (!Array.isArray(calls) || calls.length === 0) return chunk;
    const flaws = calls.map((fragment) => this.#flawOf(fragment));
    if (flaws.every((flaw) => flaw === undefined)) return chunk;
    let text = "";
    let copiedTo = 0;
    for (const [at, { start, end }] of fragmentSpans(chunk).entries()) {
      const flaw = flaws[at];
      if (flaw === undefined) continue;
      text += chunk.slice(copiedTo, start) + withoutFlaw(chunk.slice(start, end), flaw);
      copiedTo = end;
    }
    return text + chunk.slice(copiedTo);
  }

  #flawOf(fragment: unknown): Flaw | undefined {
    const call = this.#reader.read(fragment, () => undefined);
    const fields = asObject(fragment);
    if (call === undefined || fields === undefined) return undefined;
    const id = textOf(fields["id"]);
    const name = textOf(asObject(fields["function"])?.["name"]);
    const said = this.#said[call];
    this.#said[call] = { id: said?.id || id, name: said?.name || name };
    const hasWrongIndex = fields["index"] !== call;
    // A call keeps its first id, as it does across the wires: some hosts make one for each fragment.
    const repeatsId = id !== "" && said !== undefined && said.id !== "";
    const repeatsName = name !== "" && said?.name === name;
    const isRight = !hasWrongIndex && !repeatsId && !repeatsName;
    return isRight ? undefined : { call, hasWrongIndex, repeatsId, repeatsName };
  }
}

function fragmentSpans(chunk: string): readonly Span[] {
  const choices = findPath(chunk, "choices");
  const choice = choices === undefined ? undefined : findElements(chunk, choices.start, 1)[0];
  const delta = choice === undefined ? undefined : findMember(chunk, choice.start, "delta");
  const calls = delta === undefined ? undefined : findMember(chunk, delta.start, "tool_calls");
  return calls === undefined ? [] : findElements(chunk, calls.start);
}

function withoutFlaw(fragment: string, flaw: Flaw): string {
  let text = fragment;
  const fn = flaw.repeatsName ? findMember(text, 0, "function") : undefined;
  if (fn !== undefined) text = withoutMember(text, fn, "name");
  if (flaw.repeatsId) text = withoutMember(text, wholeOf(text), "id");
  if (!flaw.hasWrongIndex) return text;
  return withMember(text, wholeOf(text), { key: "index", json: String(flaw.call) });
}

function wholeOf(text: string): Span {
  return { start: 0, end: text.length };
}
