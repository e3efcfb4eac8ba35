import { isCheating, type Cheating } from "./cheats.ts";
import type { Frame } from "./dialect.ts";

/** The events of a stream after the cheats. */
export function cheatedFrames(frames: readonly Frame[], cheating: Cheating): readonly Frame[] {
  const last = frames.at(-1);
  const isMarked = last?.kind === "end";
  const more = [
    ...(isMarked && isCheating(cheating, "two-end-marks") ? [last] : []),
    ...(isMarked && isCheating(cheating, "text-after-end-mark") ? lastPiece(frames) : []),
  ];
  return more.length === 0 ? frames : [...frames, ...more];
}

/** A piece of text, as either wire sends it. */
const TEXT_PIECE = /"delta":\{(?:"type":"text_delta","text"|"content"):/;

function lastPiece(frames: readonly Frame[]): readonly Frame[] {
  const piece = frames.findLast(({ kind, data }) => kind === "content" && TEXT_PIECE.test(data));
  return piece === undefined ? [] : [piece];
}
