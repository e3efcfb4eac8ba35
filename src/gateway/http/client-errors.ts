import { type Server, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";

import {
  type Clock,
  HEADER_BYTES_MAX,
  invalidRequest,
  createRequestId,
  type Refusal,
  refusal,
} from "../../kernel/index.ts";
import type { GatewayMetrics } from "../call/metrics.ts";
import type { RequestLog } from "../call/request-log.ts";
import { closeConnection } from "./connections.ts";
import { addRefusalHeaders, baseHeaders } from "./response-headers.ts";
import type { RouteTable } from "./route-table.ts";

/** The newest request on a connection, while it is being answered. */
export interface OpenRequest {
  readonly isAnswered: boolean;
  /** Refuses the request while its body is still arriving; false if it is being served already. */
  refuseUnread(value: Refusal): boolean;
}

export interface ClientErrorOptions {
  readonly clock: Clock;
  readonly metrics: GatewayMetrics;
  readonly log: RequestLog;
  readonly routes: Pick<RouteTable, "wires">;
  readonly lingerMs: number;
  readonly openRequestOf: (socket: Duplex) => OpenRequest | undefined;
}

/** Answers requests that Node's parser refuses, if possible, and closes the connection. */
export function answerClientErrors(server: Server, options: ClientErrorOptions): void {
  const answered = new WeakSet<Duplex>();
  server.on("clientError", (fault: ClientFault, socket) => {
    if (!socket.writable) {
      // A connection that was answered here is closed after `lingerMs`; any other is destroyed now.
      if (!answered.has(socket)) socket.destroy();
      return;
    }
    if (answered.has(socket)) return;
    answered.add(socket);
    const value = toParserRefusal(fault.code);
    const open = options.openRequestOf(socket);
    if (open === undefined) answerBytes(options, socket, { value, path: readPath(fault) });
    else if (open.isAnswered) closeConnection(socket, options.lingerMs);
    // The request is being served: a client would read a second answer as a part of the first.
    else if (!open.refuseUnread(value)) socket.destroy();
  });
}

interface ClientFault extends Error {
  readonly code?: string;
  readonly rawPacket?: Buffer;
}

function toParserRefusal(code: string | undefined): Refusal {
  if (code === "HPE_HEADER_OVERFLOW") {
    return refusal(
      "request_too_large",
      `the request line and the headers together exceed the limit of ${HEADER_BYTES_MAX} bytes; send fewer or shorter headers`,
      { status: 431 },
    );
  }
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") {
    return refusal(
      "invalid_request",
      "the request did not arrive within its time limit (15 s for the headers, 60 s in all); check the connection and resend",
      { status: 408, retryable: true },
    );
  }
  return invalidRequest(
    "the bytes received are not a valid HTTP/1.1 request; check the request line, the headers and the framing of the body",
  );
}

/** Returns the path of the request; empty if the faulty bytes do not begin with a request line. */
function readPath({ rawPacket }: ClientFault): string {
  const line = rawPacket?.toString("latin1", 0, 256) ?? "";
  return /^[A-Z]+ (\/[^ ?\r\n]*)/.exec(line)?.[1] ?? "";
}

function answerBytes(
  options: ClientErrorOptions,
  socket: Duplex,
  { value, path }: { readonly value: Refusal; readonly path: string },
): void {
  const { clock, metrics, log, routes, lingerMs } = options;
  const requestId = createRequestId(clock.nowMs());
  const body = routes.wires.ofPath(path).errorBody(value, requestId);
  const list = baseHeaders(requestId);
  list.push("content-type", "application/json", "content-length", String(Buffer.byteLength(body)));
  addRefusalHeaders(list, value);
  list.push("connection", "close");
  let head = `HTTP/1.1 ${value.status} ${STATUS_CODES[value.status] ?? ""}\r\n`;
  for (let at = 0; at < list.length; at += 2) head += `${list[at]}: ${list[at + 1]}\r\n`;
  socket.write(`${head}\r\n${body}`);
  closeConnection(socket, lingerMs);
  metrics.request("unknown", value.status, value.class);
  log.unreadable(requestId, value);
}
