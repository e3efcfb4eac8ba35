import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { Pool, type Dispatcher } from "undici";

/**
 * The baseline for this gateway's figures: node:http in front, undici `dispatch` behind, a key
 * look-up, the body in one buffer, and the usage read from the end of the answer. It is started
 * with an IPC channel and the provider's port, and reports its own port.
 */
const mockPort = Number(process.argv[2]);
const pool = new Pool(`http://127.0.0.1:${mockPort}`, { pipelining: 1, connections: null });
const knownKeys = new Set([digestOf("Bearer bench")]);

const server = createServer({ keepAliveTimeout: 60_000 }, serve);
server.listen({ host: "127.0.0.1", port: 0, backlog: 4_096 }, reportPort);
process.on("disconnect", () => process.exit(0));

function reportPort(): void {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the floor has no port");
  process.send?.({ port: address.port });
}

function digestOf(credential: string): string {
  return createHash("sha256").update(credential).digest("base64url");
}

function serve(request: IncomingMessage, response: ServerResponse): void {
  if (!knownKeys.has(digestOf(request.headers.authorization ?? ""))) {
    response.writeHead(401).end();
    return;
  }
  const body = Buffer.allocUnsafe(Number(request.headers["content-length"] ?? 0));
  let filled = 0;
  request.on("data", (bytes: Buffer) => {
    filled += bytes.copy(body, filled);
  });
  request.on("end", () => forward(request.url ?? "/", body, response));
}

function forward(path: string, body: Buffer, response: ServerResponse): void {
  const headers = { "content-type": "application/json", authorization: "Bearer upstream" };
  const options = { path, method: "POST", headers, body } as const;
  pool.dispatch(options, new Relay(response));
}

class Relay implements Dispatcher.DispatchHandler {
  private readonly response: ServerResponse;
  private readonly parts: Buffer[] = [];
  private status = 0;
  private type = "";
  private streamed = false;
  private usage: unknown;

  constructor(response: ServerResponse) {
    this.response = response;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.response.on("close", () => {
      if (!this.response.writableFinished) controller.abort(new Error("the client left"));
    });
    this.response.on("drain", () => controller.resume());
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    this.status = status;
    this.type = String(headers["content-type"]);
    this.streamed = this.type.startsWith("text/event-stream");
    if (this.streamed) this.response.writeHead(status, { "content-type": this.type });
  }

  onResponseData(controller: Dispatcher.DispatchController, bytes: Buffer): void {
    this.usage = usageIn(bytes) ?? this.usage;
    if (!this.streamed) this.parts.push(bytes);
    else if (!this.response.write(bytes)) controller.pause();
  }

  onResponseEnd(): void {
    if (this.streamed) {
      this.response.end();
      return;
    }
    const body = this.parts.length === 1 ? this.parts[0] : Buffer.concat(this.parts);
    const length = body?.length ?? 0;
    this.response.writeHead(this.status, { "content-type": this.type, "content-length": length });
    this.response.end(body);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.response.destroy(error);
  }
}

/** Returns the last usage object in these bytes; undefined if there is none. */
function usageIn(bytes: Buffer): unknown {
  const at = bytes.lastIndexOf('"usage":{');
  return at === -1 ? undefined : JSON.parse(objectAt(bytes.toString("utf8", at + 8)));
}

function objectAt(text: string): string {
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === "{") depth += 1;
    if (text[at] === "}") depth -= 1;
    if (depth === 0) return text.slice(0, at + 1);
  }
  return "{}";
}
