import { afterAll, beforeAll, vi } from "vitest";

/** Node's own `fetch`, even while the global one is forbidden. */
const realFetch: typeof fetch = globalThis.fetch;

export interface NotingFetch {
  readonly fetch: typeof fetch;
  /** The request id of the last answer: most frameworks do not expose it. */
  readonly lastRequestId: () => string | null;
}

/** A `fetch` for a framework's client, which notes what the client really requests. */
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
 * Refuses every call of the global `fetch` until the test file ends, and reports which were tried.
 * Clients get their own `fetch`, so a call of the global one would go elsewhere.
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
