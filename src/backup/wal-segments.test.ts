import { expect, test } from "vitest";

import { chainFrom, isSegmentName, nextSegment, segmentOf } from "./wal-segments.ts";

const MB = 1024 * 1024;

test("the segment behind another one crosses the parts of its name", () => {
  expect(nextSegment("000000010000000000000002", 16 * MB)).toBe("000000010000000000000003");
  expect(nextSegment("0000000100000000000000FF", 16 * MB)).toBe("000000010000000100000000");
  expect(nextSegment("000000020000000A00000FFF", MB)).toBe("000000020000000B00000000");
});

test("a position is in the segment before, when it is where that one ends", () => {
  expect(segmentOf("00000001", "0/3000028", 16 * MB)).toBe("000000010000000000000003");
  expect(segmentOf("00000001", "0/3000000", 16 * MB)).toBe("000000010000000000000002");
  expect(segmentOf("00000001", "1/00000001", 16 * MB)).toBe("000000010000000100000000");
  expect(segmentOf("00000001", "1/0", 16 * MB)).toBe("0000000100000000000000FF");
});

test("a hole in the log is found, and segments of another line do not fill it", () => {
  const there = ["000000010000000000000002", "000000010000000000000003"];
  const other = "000000020000000000000004";
  const later = "000000010000000000000005";
  const first = there[0] ?? "";
  expect(chainFrom([...there, other], first, 16 * MB)).toEqual({
    segments: there,
    missing: undefined,
  });
  expect(chainFrom([...there, other, later], first, 16 * MB)).toEqual({
    segments: there,
    missing: "000000010000000000000004",
  });
  expect(chainFrom([later], first, 16 * MB)).toEqual({ segments: [], missing: first });
});

test("what a server is still writing is not taken for a segment", () => {
  expect(isSegmentName("000000010000000000000002")).toBe(true);
  expect(isSegmentName("archtemp.000000010000000000000002.1.2")).toBe(false);
  expect(isSegmentName("000000010000000000000002.00000028.backup")).toBe(false);
});
