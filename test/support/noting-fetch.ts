import { afterAll, beforeAll, vi } from "vitest";

/** Node's own `fetch`, even while the global one is forbidden. */
const realFetch: typeof fetch = globalThis.fetch;

export interface NotingFetch {
  readonly fetch: typeof fetch;
  /** Returns the request id of the last answer, which most frameworks do not expose. */
  readonly lastRequestId: () => string | null;
}

/** Returns a `fetch` for a client that notes the request id of each answer. */
export function notingFetch(): NotingFetch {
  let requestId: string | null = null;
  return {
    fetch: async (...call) => {
      const response = await realFetch(...call);
      requestId = response.headers.get("x-request-id");
      return response;
    },
    lastRequestId: () => requestId,
  };
}

/**
 * Refuses every call of the global `fetch` in this test file, because clients have a `fetch` of
 * their own. Returns a function that returns the addresses of the refused calls.
 */
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
