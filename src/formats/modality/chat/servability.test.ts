import { describe, expect, test } from "vitest";

import type { Deployment, WireId } from "../../../catalog/catalog.ts";
import type { Unservable } from "../../wire/modality.ts";
import {
  chatFor,
  buildDeployment,
  readGood,
} from "../../../../test/fixtures/modality/request-kit.ts";

interface Case {
  readonly from: WireId;
  readonly to: WireId;
  readonly members: Readonly<Record<string, unknown>>;
  readonly changes?: Partial<Deployment>;
}

function reason({ from, to, members, changes }: Case): Unservable | undefined {
  const request = readGood(from, members);
  return chatFor(request).servabilityProblem(request, buildDeployment(to, changes));
}

const a = "wire_a";
const b = "wire_b";
const picture = { type: "image_url", image_url: { url: "https://a.test/i.png" } };
const image = { messages: [{ role: "user", content: [picture] }] };
const takesImages = { inputModalities: new Set(["text", "image"] as const) };

test("a temperature above 1 is served by wire_a deployments alone, whichever wire the request came on", () => {
  for (const from of [a, b] as const) {
    expect(reason({ from, to: a, members: { temperature: 1.5 } })).toBeUndefined();
    expect(reason({ from, to: b, members: { temperature: 1 } })).toBeUndefined();
    expect(reason({ from, to: b, members: { temperature: 1.01 } })?.field).toBe("temperature");
  }
});

describe("media", () => {
  test("of an undeclared kind is refused with the provider's name and the kinds it accepts", () => {
    const inputModalities = new Set(["text", "image", "video"] as const);
    const changes = { providerName: "Zeta", inputModalities };
    const file = { type: "file", file: { file_id: "f" } };
    const members = { messages: [{ role: "user", content: [file] }] };
    expect(reason({ from: a, to: a, members, changes })?.message).toBe(
      "messages[0].content[0] is a part of kind file; the listing of Zeta accepts text, image, " +
        "video; send one of these or choose a model that accepts file",
    );
  });

  test("of an undeclared kind is refused on wire_b too in a block whose content is one block", () => {
    const source = { type: "url", url: "https://a.test/big.pdf" };
    const content = { type: "web_fetch_result", content: { type: "document", source } };
    const fetched = { type: "web_fetch_tool_result", tool_use_id: "s", content };
    const members = { messages: [{ role: "assistant", content: [fetched] }] };
    expect(reason({ from: b, to: b, members })?.field).toBe("messages.0.content.0.content.content");
    const changes = { inputModalities: new Set(["text", "file"] as const) };
    expect(reason({ from: b, to: b, members, changes })).toBeUndefined();
  });

  test.each([a, b] as const)("is not seen in the types constructor or __proto__, on %j", (wire) => {
    const content = [{ type: "constructor" }, { type: "__proto__" }];
    const messages = [{ role: "user", content }];
    expect(reason({ from: wire, to: wire, members: { messages } })).toBeUndefined();
  });

  test("of a declared kind is served on the same wire, and refused in a translation", () => {
    expect(reason({ from: a, to: a, members: image, changes: takesImages })).toBeUndefined();
    const across = reason({ from: a, to: b, members: image, changes: takesImages });
    expect(across?.field).toBe("messages[0].content[0]");
  });
});

test("a tool that only a system message defines is refused by name when its beta is dropped", () => {
  const tool = { type: "tool_definition", definition: { name: "g" } };
  const content = [{ type: "tool_addition", tool }];
  const messages = [
    { role: "user", content: "x" },
    { role: "system", content },
  ];
  const ask = (beta?: string) => {
    const request = readGood(b, { messages }, beta);
    return chatFor(request).servabilityProblem(request, buildDeployment(b));
  };
  expect(ask("inline-tools-2026-09-15")?.message).toBe(
    "messages.1.content.0 defines a tool, which no provider of this model takes in a message; " +
      "define it in tools",
  );
  expect(ask()).toBeUndefined();
});

describe("an output bound above what a listing declares as its most", () => {
  const changes = { maxOutputTokens: 16_384 };

  test.each([
    [{ max_tokens: 32_000 }, "max_tokens"],
    [{ max_completion_tokens: 32_000 }, "max_completion_tokens"],
  ] as const)(
    "%j lets a listing that writes more come first, unless the key is the customer's own",
    (members, field) => {
      expect(reason({ from: a, to: a, members, changes })).toEqual({
        field,
        message: `${field} is above 16384, the most that it writes, so that others are tried first`,
        isPreference: true,
      });
      expect(reason({ from: a, to: b, members, changes })?.field).toBe(field);
      const longer = { maxOutputTokens: 32_768 };
      expect(reason({ from: a, to: a, members, changes: longer })).toBeUndefined();
      expect(reason({ from: a, to: a, members })).toBeUndefined();
      const own = { ...changes, ownKey: {} as never };
      expect(reason({ from: a, to: a, members, changes: own })).toBeUndefined();
    },
  );

  test.each([
    ["the most itself", { max_tokens: 16_384 }, 16_384],
    ["no bound", {}, 4_000],
    ["a bound of null", { max_tokens: null }, 4_000],
  ])("is not %s", (_, members, maxOutputTokens) => {
    expect(reason({ from: a, to: a, members, changes: { maxOutputTokens } })).toBeUndefined();
  });
});

describe("log probabilities in an answer that is not streamed", () => {
  const twenty = { logprobs: true, top_logprobs: 20 };
  const long = { ...twenty, max_tokens: 32_768 };

  test("are refused before the provider is paid if they would be too large to read", () => {
    const found = reason({ from: a, to: a, members: long });
    expect(found?.field).toBe("top_logprobs");
    expect(found?.message).toMatch(/stream to true, .*at most 4,?761 output tokens/);
    // A provider that drops log probabilities is not used silently instead.
    expect(reason({ from: a, to: b, members: long })?.field).toBe("top_logprobs");
    const most = { ...twenty, max_tokens: 4_761 };
    expect(reason({ from: a, to: a, members: most })).toBeUndefined();
    expect(reason({ from: a, to: a, members: { ...most, max_tokens: 4_762 } })).toBeDefined();
  });

  test.each<[string, Omit<Case, "from">]>([
    ["the default output bound", { to: a, members: twenty }],
    ["few alternatives", { to: a, members: { ...long, top_logprobs: 2 } }],
    ["a stream", { to: a, members: { ...long, stream: true } }],
    ["no log probabilities after all", { to: a, members: { ...long, logprobs: false } }],
  ])("are served with %s", (_name, to) => {
    expect(reason({ from: a, ...to })).toBeUndefined();
  });
});

describe("a translation to the other wire", () => {
  const format = { response_format: { type: "json_object" } };

  test("is refused for a field that cannot be translated, and the same wire serves it", () => {
    expect(reason({ from: a, to: a, members: format })).toBeUndefined();
    const found = reason({ from: a, to: b, members: format });
    expect(found?.field).toBe("response_format");
    expect(found?.message).toMatch(/^response_format cannot be translated/);
  });

  test("is refused if no message has text, so that a provider of the client's wire answers", () => {
    const members = { messages: [{ role: "system", content: "" }] };
    expect(reason({ from: a, to: a, members })).toBeUndefined();
    const found = reason({ from: a, to: b, members });
    expect(found?.message).toBe("messages has no text; add a user message");
  });

  test("is refused under require_parameters if it would drop a field", () => {
    const strict = { seed: 1, provider: { require_parameters: true } };
    expect(reason({ from: a, to: a, members: strict })).toBeUndefined();
    expect(reason({ from: a, to: b, members: strict })?.field).toBe("seed");
    expect(reason({ from: a, to: b, members: { seed: 1 } })).toBeUndefined();
    const nothingLost = { provider: { require_parameters: true }, models: [], max_tokens: 5 };
    expect(reason({ from: a, to: b, members: nothingLost })).toBeUndefined();
  });
});
