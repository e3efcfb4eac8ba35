import { expect, test } from "vitest";

import { presentAddress } from "./alerts-routes.ts";

const TOKEN = "https://me:pass@hooks.example.com:8443/services/T0/secret?key=1#part";

test.each([
  ["owner", TOKEN],
  ["billing", TOKEN],
  ["developer", "https://hooks.example.com:8443/…"],
  ["viewer", "https://hooks.example.com:8443/…"],
] as const)("the role %s is shown a webhook's address as %s", (role, shown) => {
  expect(presentAddress(TOKEN, role)).toBe(shown);
});

test("an e-mail address is shown in full, and an address that cannot be parsed is not shown", () => {
  expect(presentAddress("ann@example.com", "viewer")).toBe("ann@example.com");
  expect(presentAddress("https://", "viewer")).toBe("…");
});
