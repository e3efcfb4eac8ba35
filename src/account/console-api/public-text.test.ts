import { describe, expect, test } from "vitest";

import { hostTexts, publicText } from "./public-text.ts";

const HIDDEN = hostTexts("https://api.lab.example:8443/v1");

describe("a text of a report", () => {
  test.each([
    ["the endpoint", "no answer from https://api.lab.example:8443/v1/chat", "api.lab"],
    ["its host alone", "getaddrinfo failed for api.lab.example", "api.lab"],
    ["another address", "see http://10.0.0.5/x?key=1 and wss://a.example", "10.0.0.5"],
    ["a host with its port", "connect to other.example:443 refused", "other.example"],
    ["a name that was not found", "ENOTFOUND inner.lab", "inner.lab"],
    ["an IPv4 address", "connect ECONNREFUSED 192.168.1.20:8000", "192.168"],
    ["an IPv6 address", "connect ECONNREFUSED fe80::1:2", "fe80"],
    ["a long IPv6 address", "to 2001:db8:0:1:1:1:1:1 failed", "2001"],
    ["a key", "the key sk-live_0123456789 is refused", "0123456789"],
    ["a virtual key", `tm_vk_${"0f".repeat(24)} is refused`, "0f0f"],
    ["a header", "authorization: Bearer abc.def", "abc.def"],
  ])("loses %s", (_what, text, secret) => {
    expect(publicText(text, HIDDEN)).not.toContain(secret);
    expect(publicText(text, HIDDEN)).toContain("[removed]");
  });

  test.each([
    "choices[0].message.content is no text",
    "an answer names another model: lab/chat-one-2026-10-01, qwen2.5:7b, llama-3.1-8b",
    "answered at 10:00:00 with 200 after 12.5 ms; std::vector",
    "data[0].b64_json is no PNG, JPEG or WebP in base64",
  ])("keeps %s", (text) => {
    expect(publicText(text, HIDDEN)).toBe(text);
  });

  test("is one line of 300 characters at most", () => {
    expect(publicText("a\u0000b\r\nc\u202Ed", [])).toBe("a b c d");
    expect(publicText("x".repeat(301), [])).toBe(`${"x".repeat(299)}…`);
    expect(publicText(`${"x".repeat(298)}😀😀`, [])).toBe(`${"x".repeat(298)}…`);
  });
});

test("a host without a dot is removed only as part of an address, since it may be an ordinary word", () => {
  expect(hostTexts("http://lab/v1")).toEqual(["http://lab/v1"]);
  expect(publicText("the lab answers", hostTexts("http://lab/v1"))).toBe("the lab answers");
  expect(hostTexts("http://lab:80/v1")).toEqual(["http://lab:80/v1"]);
  expect(hostTexts("http://lab:8000/v1")).toEqual(["http://lab:8000/v1", "lab:8000"]);
});
