/**
 * Names of the segments of PostgreSQL's log: 24 hexadecimal digits, 8 for the line, 8 for the high
 * part of the position, 8 for the segment in it. Within a line they are in the order of the
 * alphabet.
 */
export type SegmentName = string;

const NAME = /^[0-9A-F]{24}$/;
const HIGH_PART_BYTES = 0x1_0000_0000;

export function isSegmentName(text: string): text is SegmentName {
  return NAME.test(text);
}

/** The segment behind this one, on the same line. */
export function nextSegment(name: SegmentName, segmentBytes: number): SegmentName {
  const perHighPart = HIGH_PART_BYTES / segmentBytes;
  const number = numberOf(name, perHighPart) + 1;
  const high = Math.floor(number / perHighPart);
  return `${lineOf(name)}${hex(high)}${hex(number % perHighPart)}`;
}

/**
 * The segment of a line that a position (`0/3000028`) is in; one at an end is in the segment
 * before.
 */
export function segmentOf(line: string, lsn: string, segmentBytes: number): SegmentName {
  const [high = "0", low = "0"] = lsn.split("/");
  const position = BigInt(`0x${high}`) * BigInt(HIGH_PART_BYTES) + BigInt(`0x${low}`);
  const perHighPart = HIGH_PART_BYTES / segmentBytes;
  const number = Number((position - 1n) / BigInt(segmentBytes));
  return `${line}${hex(Math.floor(number / perHighPart))}${hex(number % perHighPart)}`;
}

export function lineOf(name: SegmentName): string {
  return name.slice(0, 8);
}

/** What a replay can use from `first` on. */
export interface SegmentChain {
  /** Without a hole, in their order; empty when `first` itself is missing. */
  readonly segments: readonly SegmentName[];
  /** The first one that is missing though later ones are there. */
  readonly missing: SegmentName | undefined;
}

/**
 * Follows the segments of one line from `first` on. `known` may have those of other lines too.
 */
export function chainFrom(
  known: Iterable<SegmentName>,
  first: SegmentName,
  segmentBytes: number,
): SegmentChain {
  const line = lineOf(first);
  const later = new Set([...known].filter((name) => lineOf(name) === line && name >= first));
  const segments: SegmentName[] = [];
  let name = first;
  for (; later.has(name); name = nextSegment(name, segmentBytes)) segments.push(name);
  const missing = later.size > segments.length || segments.length === 0 ? name : undefined;
  return { segments, missing };
}

function numberOf(name: SegmentName, perHighPart: number): number {
  return parseInt(name.slice(8, 16), 16) * perHighPart + parseInt(name.slice(16), 16);
}

function hex(value: number): string {
  return value.toString(16).toUpperCase().padStart(8, "0");
}
