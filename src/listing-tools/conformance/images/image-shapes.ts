import type { ShapeParameter } from "./image-probes.ts";
import type { ImageSize } from "./image-size.ts";

export interface AskedShape {
  readonly value: string;
  readonly width: number;
  readonly height: number;
  readonly isRatio: boolean;
}

/** Relative tolerance, because hosts round a side to a multiple of 8 or 16. */
const SIDE_TOLERANCE = 0.02;
/** For a ratio, hosts choose round sides: some offer 1344 by 768 as 16:9. */
const RATIO_TOLERANCE = 0.05;

/** Reads a size or a ratio of sides. Undefined if the value names neither, as `auto` does. */
export function parseShape(parameter: ShapeParameter, value: string): AskedShape | undefined {
  const match = /^(\d+(?:\.\d+)?)\s*([x×*:/])\s*(\d+(?:\.\d+)?)$/i.exec(value.trim());
  if (match === null) return undefined;
  const [width, height] = [Number(match[1]), Number(match[3])];
  if (width <= 0 || height <= 0) return undefined;
  const isRatio = parameter === "aspect_ratio" || match[2] === ":" || match[2] === "/";
  return { value, width, height, isRatio };
}

export function hasShape(size: ImageSize, asked: AskedShape): boolean {
  if (!asked.isRatio) {
    return isNear(size.width, asked.width) && isNear(size.height, asked.height);
  }
  const ratio = asked.width / asked.height;
  return Math.abs(size.width / size.height - ratio) <= RATIO_TOLERANCE * ratio;
}

function isNear(side: number, asked: number): boolean {
  return Math.abs(side - asked) <= SIDE_TOLERANCE * asked;
}
