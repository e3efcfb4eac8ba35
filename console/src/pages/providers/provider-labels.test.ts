import { expect, test } from "vitest";

import { webAddress } from "./provider-labels.ts";

test("an https address becomes a link, and a script, data or relative address does not", () => {
  expect(webAddress("https://lab.example/privacy")).toBe("https://lab.example/privacy");
  const refused = ["javascript:alert(1)", "data:text/html,x", "/settings", "", null];
  expect(refused.map(webAddress)).toEqual(refused.map(() => undefined));
});
