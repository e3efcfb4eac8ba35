import { isUtf8 } from "node:buffer";

import { asObject, type Span, tryParse } from "../../../kernel/index.ts";

export interface EventJson {
  readonly text: string;
  readonly value: Readonly<Record<string, unknown>>;
}

export function readEventText(data: Buffer): string | undefined {
  return isUtf8(data) ? data.toString("utf8") : undefined;
}

export function parseEventJson(text: string | undefined): EventJson | undefined {
  if (text === undefined) return undefined;
  const value = asObject(tryParse(text)?.value);
  return value === undefined ? undefined : { text, value };
}

/** The parts of an event before and after its text. The quotes around the text belong to them. */
export interface TextFrame {
  readonly before: string;
  readonly after: string;
}

/**
 * After learning this many events in a row without a match, no more events are learned: such a
 * stream varies in more than its text.
 */
const UNUSED_FRAMES_MAX = 4;
/** Matches the inside of a JSON string that is not empty and has no escapes. */
const PLAIN_TEXT = /^[ !#-[\]-\uffff]+$/;
const LINE_BREAK = /[\r\n]/;

/**
 * Recognizes events that differ from an earlier one only in their text, as most events of a stream
 * do. They are not parsed, because what was checked for the learned event holds for them.
 */
export class RepeatedEvent {
  #frame: TextFrame | undefined;
  #unused = 0;

  /**
   * The text of an event that equals the learned event in everything but its text; never empty.
   * Undefined for other events.
   */
  textIn(event: string | undefined): string | undefined {
    if (event === undefined || this.#frame === undefined) return undefined;
    const { before, after } = this.#frame;
    if (!event.startsWith(before) || !event.endsWith(after)) return undefined;
    // The slice is empty if `before` and `after` overlap in the event. `PLAIN_TEXT` does not match
    // it then.
    const text = event.slice(before.length, event.length - after.length);
    if (!PLAIN_TEXT.test(text)) return undefined;
    this.#unused = 0;
    return text;
  }

  get isLearning(): boolean {
    return this.#unused < UNUSED_FRAMES_MAX;
  }

  learn(frame: TextFrame): void {
    this.#frame = frame;
    this.#unused += 1;
  }
}

export function frameAt(event: string, span: Span | undefined): TextFrame | undefined {
  if (span === undefined || LINE_BREAK.test(event)) return undefined;
  return { before: event.slice(0, span.start + 1), after: event.slice(span.end - 1) };
}
