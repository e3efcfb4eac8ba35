import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";

import { DISCARD_BYTES_MAX } from "../../kernel/index.ts";

const closing = new WeakSet<Duplex>();

/**
 * Ends a connection after what was written to it. It is read for `LINGER_MS` more, because a
 * connection that is closed with unread bytes is reset, and the client loses the answer; then it is
 * destroyed, because a client that keeps its half open would hold the descriptor.
 */
export function closeConnection(socket: Duplex, lingerMs: number): void {
  if (closing.has(socket)) return;
  closing.add(socket);
  socket.end();
  destroyAfter(socket, lingerMs);
}

/** Destroys the connection after that time, unless it has closed before. */
export function destroyAfter(socket: Duplex, ms: number): void {
  const timer = setTimeout(() => socket.destroy(), ms);
  timer.unref();
  socket.once("close", () => clearTimeout(timer));
}

/** May bytes of the request's body still arrive? */
export function hasUnreadBody(request: IncomingMessage): boolean {
  if (request.complete) return false;
  const { "content-length": length, "transfer-encoding": encoding } = request.headers;
  return encoding !== undefined || Number(length ?? 0) > 0;
}

/** Reads the rest of a body and forgets it. A body over the bound takes its connection with it. */
export function discardBody(request: IncomingMessage, onEnd: () => void): void {
  let bytes = 0;
  request.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > DISCARD_BYTES_MAX) request.destroy();
  });
  request.on("error", () => undefined);
  request.on("end", onEnd);
}
