import { afterAll, beforeAll, vi } from "vitest";

/** Node's own `fetch`, also while the global one is forbidden. */
const realFetch: typeof fetch = globalThis.fetch;

export interface NotingFetch {
  readonly fetch: typeof fetch;
  /** How often it was asked. */
  readonly count: () => number;
  /** The request id of the last answer: most frameworks do not expose it. */
  readonly lastRequestId: () => string | null;
}

/** A `fetch` to hand to a framework's client: it notes what the client really asked. */
export function notingFetch(): NotingFetch {
  let asked = 0;
  let requestId: string | null = null;
  return {
    fetch: async (...call) => {
      asked += 1;
      const response = await realFetch(...call);
      requestId = response.headers.get("x-request-id");
      return response;
    },
    count: () => asked,
    lastRequestId: () => requestId,
  };
}

/**
 * Refuses every call of the global `fetch` until the test file ends, and reports which were tried.
 * Clients are handed a `fetch` of their own, so a call that comes here wanted to go elsewhere.
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
