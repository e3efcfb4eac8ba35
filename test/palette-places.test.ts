import { readFileSync } from "node:fs";

import { expect, test } from "vitest";

import { PLACES } from "../console/src/app/places.ts";
import { SUB_PLACES } from "../console/src/app/sub-places.ts";

/** Where a session leads by itself. */
const NOT_CHOSEN = new Set(["/verify", "/join"]);

test("the palette leads to every page that has no id in its address, and to no other", () => {
  const source = readFileSync("console/src/app/router.tsx", "utf8");
  const routes = [...source.matchAll(/page\((\w+), "([^"]+)"/g)].map(([, parent, path = ""]) =>
    parent === "modelPages" ? `/models/${path}`.replace(/\/+$/, "") : path,
  );
  expect(routes.length).toBeGreaterThan(20);
  const named = routes.filter((path) => !path.includes("$") && !NOT_CHOSEN.has(path));
  const led = new Set([...PLACES, ...SUB_PLACES].map(({ to }) => to));
  expect(named.filter((path) => !led.has(path))).toEqual([]);
  const guide = /^\/docs\/[a-z-]+$/;
  expect([...led].filter((to) => !routes.includes(to) && !guide.test(to))).toEqual([]);
});
