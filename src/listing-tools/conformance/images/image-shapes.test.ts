import { describe, expect, test } from "vitest";

import { parseShape, hasShape } from "./image-shapes.ts";

function fits(parameter: "size" | "aspect_ratio", value: string, width: number, height: number) {
  const asked = parseShape(parameter, value);
  return asked && hasShape({ format: "png", width, height }, asked);
}

describe("an image has the shape that was asked for", () => {
  test.each([
    ["size", "1024x1536", 1024, 1536],
    ["size", "1080x1920", 1088, 1920],
    ["size", "1024×1024", 1024, 1024],
    ["aspect_ratio", "16:9", 1344, 768],
    ["aspect_ratio", "1:1", 512, 512],
    ["aspect_ratio", "9:19.5", 720, 1560],
  ] as const)("%s %s: %i by %i", (parameter, value, width, height) => {
    expect(fits(parameter, value, width, height)).toBe(true);
  });
});

describe("an image of another shape is noticed", () => {
  test.each([
    ["size", "1024x1536", 1536, 1024],
    ["size", "1024x1024", 512, 512],
    ["size", "1024x1024", 1024, 768],
    ["aspect_ratio", "16:9", 768, 1344],
    ["aspect_ratio", "4:3", 1536, 1024],
  ] as const)("%s %s: %i by %i", (parameter, value, width, height) => {
    expect(fits(parameter, value, width, height)).toBe(false);
  });
});

test.each(["auto", "1K", "0x0", "a:b"])("%s promises no shape", (value) => {
  expect(parseShape("size", value)).toBeUndefined();
  expect(parseShape("aspect_ratio", value)).toBeUndefined();
});
