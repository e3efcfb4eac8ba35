import { createServer, request, type RequestListener } from "node:http";
import { duplexPair, type Duplex } from "node:stream";
import type { CustomFetch } from "openid-client";

import { assert } from "../../core/index.ts";

const ANSWER_BYTES_MAX = 1_048_576;

/**
 * A fetch that a handler of this process answers: real HTTP over a pair of streams, no socket. The
 * console may be reached under an address that does not lead here from here.
 */
export function inProcessFetch(handler: RequestListener): CustomFetch {
  const server = createServer(handler);
  return (url, options) => {
    const { pathname, search, host } = new URL(url);
    const [near, far] = duplexPair();
    server.emit("connection", far);
    return new Promise((resolve, reject) => {
      const asked = request({
        method: options.method,
        path: pathname + search,
        headers: { ...options.headers, host, connection: "close" },
        createConnection: () => near,
        ...(options.signal === undefined ? {} : { signal: options.signal }),
      });
      asked.on("error", reject);
      asked.on("response", (answer) => {
        readAll(answer).then(
          (bytes) => resolve(new Response(bytes, responseInit(answer))),
          (fault: unknown) => {
            near.destroy();
            reject(fault instanceof Error ? fault : new Error(String(fault)));
          },
        );
      });
      asked.end(textOf(options.body));
    });
  };
}

/** The forms of the protocol; it sends nothing else. */
function textOf(body: Parameters<CustomFetch>[1]["body"]): string {
  if (body === null || body === undefined) return "";
  assert(typeof body === "string" || body instanceof URLSearchParams, "a form is sent");
  return body.toString();
}

async function readAll(stream: NodeJS.ReadableStream | Duplex): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of stream) {
    const piece = Buffer.from(part as Uint8Array);
    bytes += piece.length;
    if (bytes > ANSWER_BYTES_MAX) throw new Error("the bundled issuer's answer is too long");
    parts.push(piece);
  }
  return new Uint8Array(Buffer.concat(parts));
}

function responseInit(answer: {
  readonly statusCode?: number | undefined;
  readonly headers: NodeJS.Dict<string | string[]>;
}): ResponseInit {
  const headers = Object.entries(answer.headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)] as [string, string]],
  );
  return { status: answer.statusCode ?? 500, headers };
}
