import { isUtf8 } from "node:buffer";

import * as fc from "fast-check";
import { expect, test } from "vitest";

import { runs } from "../../../../test/support/depth.ts";
import {
  buildAnswer,
  imageFile,
  openBridge,
  playImages,
} from "../../../../test/fixtures/images/image-kit.ts";
import { detectMediaType } from "./read-image-answer.ts";

const kind = fc.constantFrom("png", "jpeg", "webp", "gif", "nothing");
const base64 = fc
  .tuple(kind, fc.integer({ min: 20, max: 90 }))
  .map(([name, bytes]) => imageFile(name, bytes).toString("base64"));
const more = fc.constantFrom(
  {},
  { usage: { input_tokens: 3, output_tokens: 5, cost: 0.25 } },
  { error: null, note: 'b64_json":"AAAA', size: "é漢🚲" },
  { respect_moderation: false },
);
const answer = fc
  .tuple(fc.array(base64, { maxLength: 4 }), more)
  .map(([images, members]) => Buffer.from(buildAnswer(images, members)));
const asked = fc.integer({ min: 1, max: 4 });

/** Cuts the bytes at these places; the parts may be empty. */
function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const at = places.map((place) => place % (bytes.length + 1)).toSorted((a, b) => a - b);
  return [...at, bytes.length].map((end, index) => bytes.subarray(at[index - 1] ?? 0, end));
}

test("an image answer is the same wherever its bytes are split, even byte by byte", () => {
  const escaped = imageFile("png").toString("base64").replaceAll("/", "\\/");
  const whole = Buffer.from(buildAnswer([escaped]));
  const everywhere = Array.from(whole.keys());
  const places = fc.array(fc.nat(), { maxLength: 12 });
  fc.assert(
    fc.property(answer, asked, places, (bytes, n, cuts) => {
      const once = playImages(openBridge({ members: { n } }), [bytes]);
      const split = playImages(openBridge({ members: { n } }), cut(bytes, cuts));
      expect(split.text).toBe(once.text);
      expect(split.bridge.usage).toEqual(once.bridge.usage);
    }),
    { numRuns: runs(500), examples: [[whole, 1, everywhere]] },
  );
});

/** Random changes to the bytes of an answer. */
const token = fc
  .constantFrom('"', "\\", "\\/", "\\u002b", ",", "{}", "[", "]", ":", "=", '"b64_json":', " ")
  .map((text) => Buffer.from(text));
const mutation = fc.oneof(
  fc.record({ at: fc.nat(), put: fc.uint8Array({ maxLength: 3 }), over: fc.nat({ max: 3 }) }),
  fc.record({ at: fc.nat(), put: token, over: fc.nat({ max: 2 }) }),
  fc.record({ at: fc.nat(), put: fc.constant(Buffer.alloc(0)), over: fc.nat({ max: 40 }) }),
);
interface Mutation {
  readonly at: number;
  readonly put: Uint8Array;
  readonly over: number;
}

function mutate(bytes: Buffer, { at, put, over }: Mutation): Buffer {
  const place = at % (bytes.length + 1);
  return Buffer.concat([bytes.subarray(0, place), put, bytes.subarray(place + over)]);
}

/** Reads the images in the simplest way: parses the whole answer and decodes every image. */
function imagesByHand(bytes: Buffer): readonly string[] | undefined {
  if (!isUtf8(bytes)) return undefined;
  try {
    const { data, error } = JSON.parse(bytes.toString()) as Record<string, unknown>;
    if ((error !== undefined && error !== null && error !== false) || !Array.isArray(data)) {
      return undefined;
    }
    const images = data.map((item: unknown) => (item as Record<string, unknown>)["b64_json"]);
    return images.every(isImage) ? images : undefined;
  } catch {
    return undefined;
  }
}

function isImage(text: unknown): text is string {
  if (typeof text !== "string" || text.length % 4 !== 0) return false;
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return false;
  return detectMediaType(Buffer.from(text, "base64"), "") !== undefined;
}

test("whatever happens to an answer, the client gets all requested images or none", () => {
  let complete = 0;
  fc.assert(
    fc.property(answer, asked, fc.array(mutation, { maxLength: 3 }), (bytes, n, changes) => {
      const mutated = changes.reduce(mutate, bytes);
      const { bridge, json } = playImages(openBridge({ members: { n } }), [mutated]);
      const images = imagesByHand(mutated);
      const usable = images?.length === n;
      if (usable) complete += 1;
      const { data = [] } = json as { data?: readonly { b64_json: string }[] };
      expect(bridge.state).toBe(usable ? "complete" : "failed");
      expect(data.map((item) => item.b64_json)).toEqual(usable ? images : []);
      // A failed answer costs nothing, so it reports no usage and no cost.
      const reports = bridge.usage !== undefined || bridge.reportedCostUsd !== undefined;
      expect(reports && !usable).toBe(false);
    }),
    { numRuns: runs(3_000) },
  );
  expect(complete).toBeGreaterThan(15);
});
