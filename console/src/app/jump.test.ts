import { expect, test } from "vitest";

import { readJump, type Press } from "./jump.ts";
import { PLACES } from "./places.ts";

const targets = new Map(PLACES.map(({ letter, to }) => [letter, to]));
const press: Press = {
  key: "k",
  hasCommand: false,
  hasAlt: false,
  isTyping: false,
  isPrefixed: false,
  areSingleKeysOn: true,
};

test("no two pages share a shortcut letter, and no page uses g", () => {
  expect(targets.size).toBe(PLACES.length);
  expect(targets.has("g")).toBe(false);
});

test("g and then k opens the keys page; k alone does nothing", () => {
  expect(readJump({ ...press, key: "g" }, targets)).toEqual({ kind: "prefix" });
  expect(readJump({ ...press, isPrefixed: true }, targets)).toEqual({ kind: "go", to: "/keys" });
  expect(readJump(press, targets)).toEqual({ kind: "nothing" });
});

test("letters typed into a field are no shortcuts, but the palette opens from anywhere", () => {
  for (const key of ["g", "?", "/"]) {
    expect(readJump({ ...press, key, isTyping: true }, targets)).toEqual({ kind: "nothing" });
  }
  const typed = { ...press, hasCommand: true, isTyping: true };
  expect(readJump(typed, targets)).toEqual({ kind: "palette" });
});

test("single-key shortcuts can be switched off, and the browser's key combinations are left alone", () => {
  expect(readJump({ ...press, key: "?", areSingleKeysOn: false }, targets).kind).toBe("nothing");
  expect(readJump({ ...press, key: "/", hasAlt: true }, targets).kind).toBe("nothing");
  expect(readJump({ ...press, key: "g", hasCommand: true }, targets).kind).toBe("nothing");
});

test("? opens the help and / the search", () => {
  expect(readJump({ ...press, key: "?" }, targets).kind).toBe("help");
  expect(readJump({ ...press, key: "/" }, targets).kind).toBe("search");
});
