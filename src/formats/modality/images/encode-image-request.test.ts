import { describe, expect, test } from "vitest";

import type { Unservable } from "../../wire/modality.ts";
import {
  imageListing,
  type Members,
  PARAMETERS,
  readGood,
  sent,
} from "../../../../test/fixtures/images/image-kit.ts";
import { images } from "./index.ts";

function servabilityOf(members: Members, listing = imageListing()): Unservable | undefined {
  return images.servabilityProblem(readGood(members), listing);
}

describe("an image listing", () => {
  test.each<Members>([
    {},
    { output_compression: 99.5 },
    { seed: -12345678901234 },
    { tiled: true },
    { mood: true },
    // Null means an absent field.
    { size: null, quality: null, style: null },
    { user: "u1", safety_identifier: "s1", session_id: "x", metadata: { deep: [1, { a: 2 }] } },
    { stream: false, partial_images: 0, response_format: "b64_json" },
    { stream: null, partial_images: null, response_format: null },
  ])("accepts a request with %j", (members) => {
    expect(servabilityOf(members)).toBeUndefined();
  });

  const listed = "prompt, n, size, quality, output_format, output_compression, seed, tiled, mood";
  test.each<[Members, string]>([
    [{ size: "1x1" }, "size must be one of 1024x1024, 1536x1024"],
    [{ output_compression: 100.5 }, "output_compression must be a number from 0 to 100"],
    [{ seed: 1.5 }, "seed must be a whole number"],
    [{ tiled: "true" }, "tiled must be true or false"],
    [{ mood: {} }, "mood must be a string, a number, true or false"],
    [{ style: "vivid" }, `style is not accepted by this model; it accepts ${listed}`],
  ])("refuses a request with %j: %s", (members, message) => {
    const field = message.split(" ")[0];
    expect(servabilityOf(members)).toEqual({ field, message });
  });

  test.each([
    [{ type: "integer", max: 2 }, 3, "n must be a whole number of at most 2"],
    [{ type: "integer", min: 2 }, 1, "n must be a whole number of at least 2"],
    [{ type: "range", min: 1, max: 1 }, 2, "n must be a number from 1 to 1"],
    [{ type: "enum", values: ["1", "2"] }, 3, "n must be one of 1, 2"],
  ] as const)("applies its own bound of n if it is tighter: %j", (descriptor, n, message) => {
    const listing = imageListing({ ...PARAMETERS, n: descriptor });
    expect(servabilityOf({ n }, listing)).toEqual({ field: "n", message });
    expect(servabilityOf({ n: n === 1 ? 2 : 1 }, listing)).toBeUndefined();
  });
});

describe("the provider is sent", () => {
  test("the client's fields byte for byte and in their order, with the provider's model id", () => {
    const body =
      '{ "size" : "1024x1024", "prompt":"a \\u0041 \\ud83d", "seed": 12345678901234567890e-1,' +
      '"model":"acme/test-1", "output_compression": 5.0 }';
    const listing = imageListing(PARAMETERS, { upstreamModelId: "imager-2:fast" });
    expect(sent(body, listing)).toBe(
      '{"model":"imager-2:fast","size":"1024x1024","prompt":"a \\u0041 \\ud83d",' +
        '"seed":12345678901234567890e-1,"output_compression":5.0}',
    );
  });

  test("a request on the listing's path, with content-type as its only header", () => {
    const listing = imageListing(PARAMETERS, { imagesPath: "/v2/pictures", wire: "wire_b" });
    const headers = { "content-type": "application/json" };
    const upstream = { path: "/v2/pictures", headers, droppedParams: [] };
    expect(images.encode(readGood({}), listing)).toMatchObject({ upstream });
  });

  test("no field that is null, that only a gateway reads, or that only identifies the caller", () => {
    const members = {
      size: null,
      stream: false,
      partial_images: 0,
      response_format: "b64_json",
      route: "fallback",
      models: ["x"],
      transforms: [],
      provider: { only: ["acme"], upstream: { only: ["x"] } },
      user: "u1",
      safety_identifier: "s1",
      session_id: "x",
      metadata: { a: "b" },
    };
    expect(sent(members)).toBe('{"model":"acme/test-1","prompt":"a red bicycle"}');
  });

  test("the fields user and metadata only if the listing declares them", () => {
    const members = { user: "u1", metadata: { a: "b" } };
    for (const name of ["user", "metadata"] as const) {
      const listing = imageListing({ ...PARAMETERS, [name]: { type: "unknown" } });
      expect(servabilityOf(members, listing)).toBeUndefined();
      const body = { model: "acme/test-1", prompt: "a red bicycle", [name]: members[name] };
      expect(JSON.parse(sent(members, listing))).toEqual(body);
    }
  });

  test.each([
    [
      "response_format b64_json if the listing declares that value",
      { type: "enum", values: ["url", "b64_json"] },
      true,
    ],
    ["no response_format if the listing declares it without values", { type: "unknown" }, false],
    ["no response_format if the listing does not declare it", undefined, false],
  ] as const)("%s", (_what, descriptor, writes) => {
    const listing = imageListing({
      ...PARAMETERS,
      ...(descriptor === undefined ? {} : { response_format: descriptor }),
    });
    const expected = writes ? "b64_json" : undefined;
    for (const members of [{}, { response_format: "b64_json" }, { response_format: null }]) {
      expect(servabilityOf(members, listing)).toBeUndefined();
      const body = JSON.parse(sent(members, listing)) as Members;
      expect(body["response_format"]).toBe(expected);
    }
  });

  test.each([
    { type: "integer", default: 2 },
    { type: "range", min: 1, max: 4, default: 2 },
    { type: "enum", values: ["1", "2", "3"], default: "2" },
  ] as const)("n = 1 for a request without n if the default is another: %j", (descriptor) => {
    const listing = imageListing({ ...PARAMETERS, n: descriptor });
    expect(JSON.parse(sent({}, listing))).toMatchObject({ n: 1 });
    expect(JSON.parse(sent({ n: null }, listing))).toMatchObject({ n: 1 });
    expect(sent({ n: 3 }, listing)).toContain('"n":3}');
    expect(sent({})).not.toContain('"n"');
  });

  test("provider.upstream as its provider field if it is an aggregator", () => {
    const upstream = { only: ["lab-x"] };
    const aggregator = imageListing(PARAMETERS, { priority: 1 });
    const body: unknown = JSON.parse(sent({ provider: { upstream } }, aggregator));
    expect(body).toMatchObject({ provider: upstream });
  });
});
