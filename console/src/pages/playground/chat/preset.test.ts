import { expect, test } from "vitest";

import type { ChatSettings } from "./chat-types.ts";
import { presetFragment, readPreset } from "./preset.ts";

const listed = [{ id: "a" }, { id: "b" }];
const settings: ChatSettings = {
  modelIds: ["a", "b"],
  system: "Antworte kurz – 简短",
  parameters: { temperature: 0.5, stop: "END" },
  own: { b: { temperature: 1 } },
  tools: "[]",
  schema: "",
  isReasoningOff: true,
  routing: { order: ["p"], only: [], ignore: [], isFirstOnly: true, isStrict: false },
};

function linkTo(sent: unknown): string {
  const bytes = new TextEncoder().encode(JSON.stringify(sent));
  return `#preset=${btoa(String.fromCharCode(...bytes))}`;
}

test("a link opens with the settings that it was made from", () => {
  const { fragment = "" } = presetFragment(settings);
  expect(fragment).toMatch(/^#preset=[A-Za-z0-9_-]+$/);
  expect(readPreset(fragment, listed)).toEqual({ settings });
});

test("a key is never put into a link", () => {
  for (const secret of ["tm_vk_0123456789", "sk-abcdefghij"]) {
    const { fragment, problem } = presetFragment({ ...settings, system: `use ${secret}` });
    expect(fragment).toBeUndefined();
    expect(problem).toMatch(/secret key/);
    expect(problem).not.toContain(secret);
  }
});

test("settings that are too long for a link make none", () => {
  expect(presetFragment({ ...settings, system: "x".repeat(20_000) }).problem).toMatch(/too long/);
});

test("a link from elsewhere brings only what is known, within bounds", () => {
  const sent = {
    modelIds: ["b", "b", "unknown", 3],
    system: 7,
    parameters: { temperature: 0.1, deep: { x: 1 }, list: [1] },
    own: { unknown: { temperature: 1 }, b: "no" },
    tools: ["not a text"],
    routing: { only: ["p", 1], connections: "never" },
    api_key: "k",
  };
  expect(readPreset(linkTo(sent), listed)?.settings).toEqual({
    modelIds: ["b"],
    system: "",
    parameters: { temperature: 0.1 },
    own: { b: {} },
    tools: "",
    schema: "",
    isReasoningOff: false,
    routing: { order: [], only: ["p"], ignore: [], isFirstOnly: false, isStrict: false },
  });
});

test("a damaged link says so, and an address without a preset is none", () => {
  for (const damaged of ["#preset=%%%", "#preset=AAAA", `#preset=${"A".repeat(16_001)}`]) {
    expect(readPreset(damaged, listed)?.problem).toMatch(/damaged or too long/);
  }
  const long = linkTo({ modelIds: ["a"], system: "x".repeat(13_000) });
  expect(readPreset(long, listed)?.problem).toMatch(/damaged or too long/);
  expect(readPreset(linkTo({ modelIds: ["gone"] }), listed)?.problem).toMatch(/None of the models/);
  expect(readPreset("", listed)).toBeUndefined();
  expect(readPreset("#elsewhere", listed)).toBeUndefined();
});
