import { describe, expect, test } from "vitest";
import type { WireId } from "../../catalog/catalog.ts";
import { bodyOf, readBad } from "../../modality/fixtures/request-kit.ts";

const wires: readonly WireId[] = ["wire_a", "wire_b"];

describe.each(wires)("keys of a %s body that a careless provider reads as another", (wire) => {
  test.each([
    ["Max_Tokens", "max_tokens"],
    ["MODEL", "model"],
    ["N", "n"],
    ["max_to\u212Aens", "max_tokens"],
    ["\uFF4Dodel", "model"],
    ["\u017Ftream", "stream"],
    ["SERVICE_TIER", "service_tier"],
    ["Speed", "speed"],
  ])("%j at the top level", (key, meant) => {
    const body = bodyOf({ [key]: 1 });
    const refused = readBad(wire, body);
    expect(refused).toMatchObject({ class: "invalid_request", status: 400 });
    expect(refused.message).toBe(`${key} is not accepted: write it exactly as ${meant}`);
  });

  test.each([
    ["messages", [{ role: "user", content: "x", Content: "y" }], /Content is not accepted/],
    [
      "messages",
      [{ role: "user", content: [{ type: "text", text: "x", Type: "image" }] }],
      /Type is not accepted/,
    ],
    ["provider", { Only: ["a"] }, /Only is not accepted/],
    ["cache_control", { type: "ephemeral", TTL: "1h" }, /cache_control\.TTL is not accepted/],
  ])("inside %s", (field, value, message) => {
    expect(readBad(wire, bodyOf({ [field]: value })).message).toMatch(message);
  });

  test("a mark of the cache has no key twice", () => {
    const text = bodyOf({ cache_control: 0 }).replace(
      '"cache_control":0',
      '"cache_control":{"ttl":"5m","ttl":"1h"}',
    );
    expect(readBad(wire, text).message).toMatch(/^cache_control\.ttl is duplicated/);
  });

  test("a credential in other letters is one too", () => {
    expect(readBad(wire, bodyOf({ "\uFF41pi_key": "x" })).message).toContain("credentials");
  });
});

test("keys of stream_options are held to their spelling", () => {
  const refused = readBad("wire_a", bodyOf({ stream_options: { INCLUDE_USAGE: false } }));
  expect(refused.message).toBe(
    "stream_options.INCLUDE_USAGE is not accepted: write it exactly as include_usage",
  );
});
