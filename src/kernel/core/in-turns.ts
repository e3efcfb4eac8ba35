import { setImmediate } from "node:timers/promises";
import { systemClock } from "./time.ts";

/** After so long other requests are served first. */
const TURN_MS = 10;
/** Items between two readings of the clock. */
const CHECKED_EVERY = 16;

/**
 * Maps items that may be so many that all of them at once would hold up every other request. What
 * is made of one item must be quick.
 */
export async function mapInTurns<T, R>(
  items: readonly T[],
  make: (item: T) => R,
): Promise<readonly R[]> {
  const made: R[] = [];
  let endMs = systemClock.monotonicMs() + TURN_MS;
  for (const [index, item] of items.entries()) {
    made.push(make(item));
    if (index % CHECKED_EVERY !== 0 || systemClock.monotonicMs() < endMs) continue;
    await setImmediate();
    endMs = systemClock.monotonicMs() + TURN_MS;
  }
  return made;
}

/** The JSON texts of a list as bytes with commas between them, in pieces of at least 64 KiB. */
export async function listPieces<T>(
  items: readonly T[],
  textOf: (item: T) => string,
  frame: { readonly before: string; readonly after: string },
): Promise<readonly Buffer[]> {
  const pieces: Buffer[] = [];
  let text = frame.before;
  let isFirst = true;
  await mapInTurns(items, (item) => {
    text += `${isFirst ? "" : ","}${textOf(item)}`;
    isFirst = false;
    if (text.length < PIECE_CHARS) return;
    pieces.push(Buffer.from(text));
    text = "";
  });
  pieces.push(Buffer.from(text + frame.after));
  return pieces;
}

const PIECE_CHARS = 65_536;
