import { afterAll, beforeAll, vi } from "vitest";

const realFetch: typeof fetch = globalThis.fetch;

/** Returns a `fetch` that notes the id of the last request, which most frameworks do not expose. */
export function notingFetch() {
  let requestId: string | null = null;
  const noting: typeof fetch = async (...call) => {
    const response = await realFetch(...call);
    requestId = response.headers.get("x-request-id");
    return response;
  };
  return { fetch: noting, lastRequestId: () => requestId };
}

/** Refuses the global `fetch` in a file: clients have their own. Returns the addresses. */
export function forbidGlobalFetch(): () => readonly string[] {
  const tried: string[] = [];
  beforeAll(() => {
    vi.stubGlobal("fetch", (input: string | URL | Request) => {
      const url = input instanceof Request ? input.url : String(input);
      tried.push(url);
      return Promise.reject(new Error(`no test may ask ${url}`));
    });
  });
  afterAll(() => void vi.unstubAllGlobals());
  return () => tried;
}
