import { isUtf8 } from "node:buffer";

import { asObject, type Span, tryParse } from "../../../kernel/index.ts";

/** The JSON object of a provider's event, with the text it was read from. */
export interface EventJson {
  readonly text: string;
  readonly value: Readonly<Record<string, unknown>>;
}

/** The bytes of an event as text; undefined when they are not UTF-8. */
export function readEventText(data: Buffer): string | undefined {
  return isUtf8(data) ? data.toString("utf8") : undefined;
}

/** Parses an event; undefined without text, or if it is no JSON object within the bounds. */
export function parseEventJson(text: string | undefined): EventJson | undefined {
  if (text === undefined) return undefined;
  const value = asObject(tryParse(text)?.value);
  return value === undefined ? undefined : { text, value };
}

/** The parts of an event before and after its text, quotes included. */
export interface TextFrame {
  readonly before: string;
  readonly after: string;
}

/** After so many learned frames that matched nothing, learning ends: more than the text varies. */
const UNUSED_FRAMES_MAX = 4;
/** Text that has no escapes in a JSON string. */
const PLAIN_TEXT = /^[ !#-[\]-\uffff]+$/;
const LINE_BREAK = /[\r\n]/;

/**
 * Most events of a stream differ from the previous one only in their text. Such an event is
 * recognized by its frame and not parsed, because the checks of the learned event hold for it.
 */
export class RepeatedEvent {
  #frame: TextFrame | undefined;
  #unused = 0;

  /** The text of an event that equals the learned one in everything else; never empty. */
  textIn(event: string | undefined): string | undefined {
    if (event === undefined || this.#frame === undefined) return undefined;
    const { before, after } = this.#frame;
    if (!event.startsWith(before) || !event.endsWith(after)) return undefined;
    // Empty, and so not plain, if the two ends overlap.
    const text = event.slice(before.length, event.length - after.length);
    if (!PLAIN_TEXT.test(text)) return undefined;
    this.#unused = 0;
    return text;
  }

  /** False once too many learned frames have matched nothing. */
  get isLearning(): boolean {
    return this.#unused < UNUSED_FRAMES_MAX;
  }

  learn(frame: TextFrame): void {
    this.#frame = frame;
    this.#unused += 1;
  }
}

/** The frame of the JSON string at `span`; undefined if the event has several lines. */
export function frameAt(event: string, span: Span | undefined): TextFrame | undefined {
  if (span === undefined || LINE_BREAK.test(event)) return undefined;
  return { before: event.slice(0, span.start + 1), after: event.slice(span.end - 1) };
}
