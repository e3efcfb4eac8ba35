import {
  asObject,
  findElements,
  findMember,
  findPath,
  type Span,
  textOf,
  withMember,
  withoutMember,
} from "../../json/index.ts";
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
    const spans = fragmentSpans(chunk);
    let text = chunk;
    // From the last to the first: what is before an edit keeps its place.
    for (let at = spans.length - 1; at >= 0; at--) {
      const span = spans[at];
      const flaw = flaws[at];
      if (span !== undefined && flaw !== undefined) text = withoutFlaw(text, span, flaw);
    }
    return text;
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
    const repeatsId = id !== "" && said?.id === id;
    const repeatsName = name !== "" && said?.name === name;
    const isRight = !hasWrongIndex && !repeatsId && !repeatsName;
    return isRight ? undefined : { call, hasWrongIndex, repeatsId, repeatsName };
  }
}

function fragmentSpans(chunk: string): readonly Span[] {
  const choices = findPath(chunk, "choices");
  const choice = choices === undefined ? undefined : findElements(chunk, choices.start)[0];
  const delta = choice === undefined ? undefined : findMember(chunk, choice.start, "delta");
  const calls = delta === undefined ? undefined : findMember(chunk, delta.start, "tool_calls");
  return calls === undefined ? [] : findElements(chunk, calls.start);
}

function withoutFlaw(chunk: string, fragment: Span, flaw: Flaw): string {
  let text = chunk;
  const fn = flaw.repeatsName ? findMember(text, fragment.start, "function") : undefined;
  if (fn !== undefined) text = withoutMember(text, fn, "name");
  if (flaw.repeatsId) text = withoutMember(text, fragment, "id");
  if (!flaw.hasWrongIndex) return text;
  return withMember(text, fragment, { key: "index", json: String(flaw.call) });
}
