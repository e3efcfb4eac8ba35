import { expect, test } from "vitest";

import { browserName } from "./browser-name.ts";

const LIKE = "(KHTML, like Gecko)";
const MAC = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15";

test.each([
  [`${MAC} ${LIKE} Version/18.1 Safari/605.1.15`, "Safari on macOS"],
  [`${MAC} ${LIKE} Chrome/142.0.0.0 Safari/537.36`, "Chrome on macOS"],
  [
    `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${LIKE} Chrome/142.0.0.0 Safari/537.36 Edg/142.0`,
    "Edge on Windows",
  ],
  [`Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0`, "Firefox on Linux"],
  [
    `Mozilla/5.0 (Linux; Android 15) ${LIKE} Chrome/142.0 Mobile Safari/537.36`,
    "Chrome on Android",
  ],
  [`Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) ${LIKE} CriOS/142.0`, "Chrome on iOS"],
  ["curl/8.5.0", "curl"],
  ["something else", "Unknown browser"],
  [null, "Unknown browser"],
])("the user agent %s is named %s", (userAgent, name) => {
  expect(browserName(userAgent)).toBe(name);
});
