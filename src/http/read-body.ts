import type { IncomingMessage } from "node:http";

import { invalidRequest, refusal, refused, type Refused, type Result } from "../core/index.ts";

/**
 * Reads a request body, counting while it reads: over `bytesMax` it is refused; the refusal reads
 * the rest. `done` is called exactly once, and not at all when the client leaves first.
 */
export function readBody(
  request: IncomingMessage,
  bytesMax: number,
  done: (read: Result<{ readonly body: Buffer }>) => void,
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
  collect(request, bytesMax, done);
}

function collect(
  request: IncomingMessage,
  bytesMax: number,
  done: (read: Result<{ readonly body: Buffer }>) => void,
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
    done(tooLarge(bytesMax));
  });
  request.on("end", () => {
    if (finished) return;
    finished = true;
    const [only] = chunks;
    // One chunk is the common case: no copy.
    const body = chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks);
    done({ ok: true, body });
  });
  request.on("error", () => {
    finished = true;
  });
}

function tooLarge(bytesMax: number): Refused {
  const message = `the request body exceeds the limit of ${bytesMax} bytes for this route; send a smaller body`;
  return refused(refusal("request_too_large", message));
}
