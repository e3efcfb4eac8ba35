import { afterEach, expect, test, vi } from "vitest";

import { call, faultText, fetchOk } from "./client.ts";

afterEach(() => vi.unstubAllGlobals());

test("an answer that is empty or breaks off is a failed connection, not a success without an answer", async () => {
  const unreachable = "The console cannot be reached. Check your connection and try again.";
  for (const body of ["", '{"key":"tm_vk_0123']) {
    vi.stubGlobal("fetch", () => Promise.resolve(new Response(body)));
    const fault: unknown = await call("POST /api/console/reveal").catch((error: unknown) => error);
    expect(faultText(fault)).toBe(unreachable);
    expect(fault).toHaveProperty("status", 0);
  }
  const broken = new ReadableStream({ start: (body) => body.error(new TypeError("terminated")) });
  vi.stubGlobal("fetch", () => Promise.resolve(new Response(broken)));
  const read = fetchOk("/docs/errors.md", {}, (answer) => answer.text());
  expect(await read.catch(faultText)).toBe(unreachable);
});
