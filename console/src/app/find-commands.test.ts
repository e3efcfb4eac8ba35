import { expect, test } from "vitest";

import { findCommands, withRecent, type Command } from "./find-commands.ts";

const commands: readonly Command[] = [
  { id: "overview", group: "Pages", label: "Overview" },
  { id: "billing", group: "Pages", label: "Billing", keywords: "credit" },
  { id: "key", group: "Keys", label: "Nightly build", hint: "tm_vk_a1b2c3" },
  { id: "model", group: "Models", label: "Bill's model", hint: "acme/bill" },
];
const ids = (query: string): string[] => findCommands(commands, query).map(({ id }) => id);

test("a page is found by a part of its keywords, in upper or lower case", () => {
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

test("a thousand matching models do not push a matching page out of the results", () => {
  const models = Array.from({ length: 1000 }, (_none, n): Command => {
    return { id: `m${n}`, group: "Models", label: `model ${n}` };
  });
  const found = findCommands([...models, { id: "models", group: "Pages", label: "Models" }], "mod");
  expect(found).toHaveLength(8);
  expect(found.map(({ id }) => id)).toContain("models");
});

test("a blank query lists every page, even if there are twenty", () => {
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
