import type { IncomingMessage } from "node:http";

import {
  type BufferPool,
  invalidRequest,
  type LentBuffer,
  type Refusal,
  refusal,
  type Refused,
  refused,
  type Result,
} from "../../kernel/index.ts";

/** A request body. */
export interface ReadBody {
  readonly body: Buffer;
  /** The pooled buffer that holds it; undefined if it is not pooled. */
  readonly loan: LentBuffer | undefined;
}

/**
 * Reads a request body and refuses it over `bytesMax`; the refusal reads the rest. `done` is called
 * once, or never if the client leaves first.
 */
export function readBody(
  request: IncomingMessage,
  { bytesMax, pool }: { readonly bytesMax: number; readonly pool: BufferPool },
  done: (read: Result<ReadBody>) => void,
): void {
  const encoding = request.headers["content-encoding"];
  if (encoding !== undefined && encoding !== "identity") {
    const message = "content-encoding is not accepted on requests; send the JSON body uncompressed";
    done(refused(invalidRequest(message)));
    return;
  }
  const declared = Number(request.headers["content-length"] ?? Number.NaN);
  if (declared > bytesMax) {
    done(tooLarge(bytesMax));
    return;
  }
  collect(request, bytesMax, (chunks, bytes) => {
    done(chunks === undefined ? tooLarge(bytesMax) : { ok: true, ...joined(chunks, bytes, pool) });
  });
}

/** Calls `done` with the chunks, or with undefined if there are more than `bytesMax` bytes. */
function collect(
  request: IncomingMessage,
  bytesMax: number,
  done: (chunks: readonly Buffer[] | undefined, bytes: number) => void,
): void {
  const chunks: Buffer[] = [];
  let bytes = 0;
  let finished = false;
  request.on("data", (chunk: Buffer) => {
    if (finished) return;
    bytes += chunk.length;
    if (bytes <= bytesMax) {
      chunks.push(chunk);
      return;
    }
    finished = true;
    chunks.length = 0;
    done(undefined, bytes);
  });
  request.on("end", () => {
    if (finished) return;
    finished = true;
    done(chunks, bytes);
  });
  request.on("error", () => {
    finished = true;
  });
}

/** Joins the chunks. The buffer is lent only now, so that slow uploads do not occupy the pool. */
function joined(chunks: readonly Buffer[], bytes: number, pool: BufferPool): ReadBody {
  const [only] = chunks;
  // One chunk is the common case: no copy.
  if (chunks.length === 1 && only !== undefined) return { body: only, loan: undefined };
  const loan = pool.lend(bytes);
  const body = loan?.bytes ?? Buffer.allocUnsafe(bytes);
  let at = 0;
  for (const chunk of chunks) at += chunk.copy(body, at);
  return { body, loan };
}

function tooLarge(bytesMax: number): Refused {
  const message = `the request body exceeds the limit of ${bytesMax} bytes for this route; send a smaller body`;
  return refused(refusal("request_too_large", message));
}

/**
 * Refuses a request that a proxy in front of the gateway could read differently. Node's parser
 * accepts requests without a version, keeps the first of several keys or hosts, and uses the last
 * of several encodings.
 */
export function findAmbiguity(request: IncomingMessage): Refusal | undefined {
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
