import { describe, expect, test } from "vitest";

import { foreignOriginProblem } from "./guard-request.ts";

const CONSOLE = "https://console.example";
const JSON_TYPE = { "content-type": "application/json" };
const OWN = { ...JSON_TYPE, origin: CONSOLE };

function status(method: string, headers: Record<string, string>): number | undefined {
  return foreignOriginProblem({ method, headers }, CONSOLE)?.status;
}

describe("a request that may change something", () => {
  test.each<[string, Record<string, string>, number | undefined]>([
    ["of a page of the console", { ...JSON_TYPE, "sec-fetch-site": "same-origin" }, undefined],
    ["with the console's origin", OWN, undefined],
    ["with a charset", { ...OWN, "content-type": "application/json; charset=utf-8" }, undefined],
    ["of another site", { ...OWN, "sec-fetch-site": "cross-site" }, 403],
    ["of a sibling site", { ...OWN, "sec-fetch-site": "same-site" }, 403],
    ["typed into the address bar", { ...OWN, "sec-fetch-site": "none" }, 403],
    ["of another origin", { ...JSON_TYPE, origin: "https://evil.example" }, 403],
    ["of the console's host on http", { ...JSON_TYPE, origin: "http://console.example" }, 403],
    ["of a longer host", { ...JSON_TYPE, origin: `${CONSOLE}.evil.example` }, 403],
    ["of a sandboxed page", { ...JSON_TYPE, origin: "null" }, 403],
    ["without an origin", JSON_TYPE, 403],
    ["of a form", { ...OWN, "content-type": "application/x-www-form-urlencoded" }, 415],
    ["of a form of plain text", { ...OWN, "content-type": "text/plain" }, 415],
    [
      "that hides another type behind JSON",
      { ...OWN, "content-type": "application/json, text/plain" },
      415,
    ],
    ["without a type", { origin: CONSOLE }, 415],
  ])("%s passes or is refused, whatever its method", (_, headers, expected) => {
    for (const method of ["POST", "PATCH", "DELETE", "PUT"]) {
      expect(status(method, headers)).toBe(expected);
    }
  });
});

test("a read needs no proof of its origin, since it changes nothing", () => {
  expect(status("GET", {})).toBeUndefined();
  expect(status("HEAD", { "sec-fetch-site": "cross-site" })).toBeUndefined();
});
