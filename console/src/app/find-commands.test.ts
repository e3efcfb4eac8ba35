import { expect, test } from "vitest";

import { findCommands, withRecent, type Command } from "./find-commands.ts";

const commands: readonly Command[] = [
  { id: "overview", group: "Pages", label: "Overview" },
  { id: "billing", group: "Pages", label: "Billing", keywords: "credit" },
  { id: "key", group: "Keys", label: "Nightly build", hint: "tm_vk_a1b2c3" },
  { id: "model", group: "Models", label: "Bill's model", hint: "acme/bill" },
];
const ids = (query: string): string[] => findCommands(commands, query).map(({ id }) => id);

test("a page is found by its other names", () => {
  expect(ids("credit")).toEqual(["billing"]);
  expect(ids("CRED")).toEqual(["billing"]);
});

test("labels that begin with the query come before labels that only contain it", () => {
  expect(ids("b")).toEqual(["billing", "model", "key"]);
});

test("a key is found by its name, its label, and the whole pasted key", () => {
  expect(ids("nightly")).toEqual(["key"]);
  expect(ids("tm_vk_a1b2c3")).toEqual(["key"]);
  expect(ids(`tm_vk_a1b2c3${"0".repeat(42)}`)).toEqual(["key"]);
  expect(ids(`tm_vk_ffffff${"0".repeat(42)}`)).toEqual([]);
});

test("every word must match, and an empty query matches everything", () => {
  expect(ids("nightly overview")).toEqual([]);
  expect(ids(" ")).toHaveLength(4);
});

test("a thousand models do not hide the pages", () => {
  const models = Array.from({ length: 1000 }, (_none, n): Command => {
    return { id: `m${n}`, group: "Models", label: `model ${n}` };
  });
  const found = findCommands([...models, { id: "models", group: "Pages", label: "Models" }], "mod");
  expect(found).toHaveLength(8);
  expect(found.map(({ id }) => id)).toContain("models");
});

test("all pages are listed, however many", () => {
  const pages = Array.from({ length: 20 }, (_none, n): Command => {
    return { id: `p${n}`, group: "Pages", label: `page ${n}` };
  });
  expect(findCommands(pages, "")).toHaveLength(20);
});

test("recently chosen commands come first until something is typed", () => {
  const shown = withRecent(commands, ["key", "gone"], "");
  expect(shown.map(({ id, group }) => `${group} ${id}`)).toEqual([
    "Recent recent key",
    "Pages overview",
    "Pages billing",
    "Keys key",
    "Models model",
  ]);
  expect(withRecent(commands, ["key"], "n")).toBe(commands);
});
