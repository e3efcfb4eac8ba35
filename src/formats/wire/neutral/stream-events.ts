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

/** Undefined when there is no text, or it is not JSON within its bounds, or no object. */
export function parseEventJson(text: string | undefined): EventJson | undefined {
  if (text === undefined) return undefined;
  const value = asObject(tryParse(text)?.value);
  return value === undefined ? undefined : { text, value };
}

/** The bytes before and behind the text in an event, quotes included. */
export interface TextFrame {
  readonly before: string;
  readonly after: string;
}

/** Frames that are learned in a row without being used: then the provider varies more than a text. */
const UNUSED_FRAMES_MAX = 4;
/** Text that is the same inside and outside of a JSON string. */
const PLAIN_TEXT = /^[ !#-[\]-\uffff]+$/;
const LINE_BREAK = /[\r\n]/;

/**
 * Most events of a stream differ from the previous one only in their text. Such an event is
 * recognized by its frame and not parsed, because the checks of the learned event hold for it.
 */
export class RepeatedEvent {
  #frame: TextFrame | undefined;
  #unused = 0;

  /** The text of an event that is otherwise the learned one; never empty. */
  textIn(event: string | undefined): string | undefined {
    if (event === undefined || this.#frame === undefined) return undefined;
    const { before, after } = this.#frame;
    if (!event.startsWith(before) || !event.endsWith(after)) return undefined;
    // Empty, and so not plain, where the two ends overlap.
    const text = event.slice(before.length, event.length - after.length);
    if (!PLAIN_TEXT.test(text)) return undefined;
    this.#unused = 0;
    return text;
  }

  /** False once too many learned frames were never used. */
  get isLearning(): boolean {
    return this.#unused < UNUSED_FRAMES_MAX;
  }

  learn(frame: TextFrame): void {
    this.#frame = frame;
    this.#unused += 1;
  }
}

/** The frame of the JSON string at `span`; undefined where the event's lines would be several. */
export function frameAt(event: string, span: Span | undefined): TextFrame | undefined {
  if (span === undefined || LINE_BREAK.test(event)) return undefined;
  return { before: event.slice(0, span.start + 1), after: event.slice(span.end - 1) };
}
