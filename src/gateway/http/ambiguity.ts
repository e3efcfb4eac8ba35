import type { IncomingMessage } from "node:http";

import { invalidRequest, type Refusal } from "../../kernel/index.ts";

/**
 * Refuses a request that a proxy in front of the gateway could read in another way than it does.
 * The parser accepts requests without a version, keeps the first of several keys or hosts, and
 * believes the last of several encodings.
 */
export function ambiguityOf(request: IncomingMessage): Refusal | undefined {
  if (request.httpVersionMajor !== 1) return invalidRequest("send the request with HTTP/1.1");
  const { rawHeaders } = request;
  const seen = new Set<string>();
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] ?? "").toLowerCase();
    if (!ONCE.has(name)) continue;
    if (seen.has(name)) return invalidRequest(`the header ${name} is sent twice; send it once`);
    seen.add(name);
  }
  const encoding = request.headers["transfer-encoding"];
  if (encoding === undefined || encoding.toLowerCase() === "chunked") return undefined;
  return invalidRequest(
    "transfer-encoding must be chunked and nothing else; send the JSON body uncompressed",
  );
}

const ONCE: ReadonlySet<string> = new Set([
  "authorization",
  "content-encoding",
  "content-type",
  "host",
  "transfer-encoding",
  "x-api-key",
]);
