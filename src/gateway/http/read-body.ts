import type { IncomingMessage } from "node:http";

import {
  type BufferPool,
  HeldBytes,
  invalidRequest,
  type LentBuffer,
  type OrgId,
  type Refusal,
  type Refused,
  refused,
  type Result,
} from "../../kernel/index.ts";
import { bodyTooLarge } from "../call/refuse.ts";
import type { ArrivingBodies } from "./connections.ts";

export interface ReadBody {
  readonly body: Buffer;
  /** Undefined if `body` uses no pooled buffer. */
  readonly loan: LentBuffer | undefined;
}

export interface BodyBounds {
  readonly bytesMax: number;
  readonly pool: BufferPool;
  readonly arriving: ArrivingBodies;
  readonly orgId: OrgId;
}

/** Refuses a body over `bytesMax` early. Calls `done` once, or never if the client leaves first. */
export function readBody(
  request: IncomingMessage,
  bounds: BodyBounds,
  done: (read: Result<ReadBody>) => void,
): void {
  const { bytesMax, pool, arriving, orgId } = bounds;
  const encoding = request.headers["content-encoding"];
  if (encoding !== undefined && encoding !== "identity") {
    const message = "content-encoding is not accepted on requests; send the JSON body uncompressed";
    done(refused(invalidRequest(message)));
    return;
  }
  const declared = Number(request.headers["content-length"] ?? Number.NaN);
  if (declared > bytesMax) {
    done(bodyTooLarge(bytesMax));
    return;
  }
  let held: HeldBytes | undefined = new HeldBytes();
  const giveUp = (): void => {
    held = undefined;
    arriving.ended(body);
  };
  const refuse = (value: Refused): void => {
    giveUp();
    done(value);
  };
  const body = { owner: orgId, bytes: 0, refuse: (value: Refusal) => refuse(refused(value)) };
  request.on("data", (chunk: Buffer) => {
    if (held === undefined) return;
    held.add(chunk);
    if (held.length > bytesMax) refuse(bodyTooLarge(bytesMax));
    else arriving.grew(body, chunk.length);
  });
  request.on("end", () => {
    const whole = held;
    giveUp();
    if (whole !== undefined) done({ ok: true, ...joined(whole, pool) });
  });
  request.on("error", giveUp);
  request.on("close", giveUp);
}

/** Borrows a pooled buffer only for a whole body, so that slow uploads do not occupy the pool. */
function joined(held: HeldBytes, pool: BufferPool): ReadBody {
  const pieces = held.pieces();
  const [only] = pieces;
  if (pieces.length === 1 && only !== undefined) return { body: only, loan: undefined };
  const loan = pool.lend(held.length);
  const body = loan?.bytes ?? Buffer.allocUnsafe(held.length);
  let at = 0;
  for (const piece of pieces) at += piece.copy(body, at);
  return { body, loan };
}

/**
 * Refuses a request that a proxy before the gateway could read differently (request smuggling).
 * Node's parser accepts a request without an HTTP version, the first of several keys or hosts, and
 * the last of several transfer encodings.
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
  if (request.httpVersionMinor > 0 && !seen.has("host")) {
    return invalidRequest("the header host is missing; HTTP/1.1 requires it");
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
