import { readFileSync } from "node:fs";

import { expect, test } from "vitest";

import { PLAIN_STYLE } from "../src/plain-page/plain-style.ts";

/** Read as text: the module brings the types of a browser along. */
const THEME = readFileSync("console/src/app/theme.ts", "utf8");

/** What a plain page calls in short, in the console's names. */
const LONG_NAMES: Readonly<Record<string, string>> = {
  "--dimmed": "--mantine-color-dimmed",
  "--border": "--mantine-color-default-border",
};

test("pages without a script have the colors of the console, in light and in dark", () => {
  const [light = "", dark = ""] = PLAIN_STYLE.split("@media (prefers-color-scheme: dark)");
  const [, lightTheme = "", darkTheme = ""] = THEME.split(/\n {2}(?:light|dark): \{\n/);
  expect(named(light)).toEqual(chosen(light, lightTheme));
  expect(named(dark)).toEqual(chosen(dark, darkTheme));
  expect(Object.keys(named(light))).toEqual(Object.keys(named(dark)));
  const market = [...(/market: \[([^\]]+)\]/.exec(THEME)?.[1] ?? "").matchAll(/#[0-9a-f]{6}/g)].map(
    ([color]) => color,
  );
  expect([valueOf(light, "--accent"), valueOf(dark, "--accent")]).toEqual([market[8], market[7]]);
  expect([valueOf(light, "--link"), valueOf(dark, "--link")]).toEqual([market[8], market[4]]);
});

/** The colors that have a name in the console. */
function named(style: string): Readonly<Record<string, string>> {
  const head = style.slice(0, style.indexOf("}"));
  const pairs = [...head.matchAll(/(--tm-[a-z-]+|--dimmed|--border): (#[0-9a-f]{6})/g)];
  expect(pairs.length).toBe(9);
  return Object.fromEntries(pairs.map(([, name = "", value = ""]) => [name, value]));
}

function chosen(style: string, theme: string): object {
  const names = Object.keys(named(style));
  return Object.fromEntries(
    names.map((name) => {
      const long = LONG_NAMES[name] ?? name;
      return [name, new RegExp(`"${long}": "(#[0-9a-f]{6})"`).exec(theme)?.[1]];
    }),
  );
}

function valueOf(style: string, name: string): string | undefined {
  return new RegExp(`${name}: (#[0-9a-f]{6})`).exec(style)?.[1];
}
