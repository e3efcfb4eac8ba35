import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";

import definitions from "otlp-definitions/build/src/generated/root.js";

/** The parts of the generated definitions that decode exported spans. */
interface Definitions {
  readonly opentelemetry: {
    readonly proto: {
      readonly collector: {
        readonly trace: { readonly v1: { readonly ExportTraceServiceRequest: Decoder } };
      };
    };
  };
}

interface Decoder {
  decode(bytes: Uint8Array): object;
  toObject(message: object, options: object): unknown;
}

const { ExportTraceServiceRequest } = (definitions as unknown as Definitions).opentelemetry.proto
  .collector.trace.v1;

/** A span as received: ids in hexadecimal, times in nanoseconds. */
export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** "" for a root span. */
  readonly parentSpanId: string;
  readonly name: string;
  /** 1: internal, 2: server, 3: client. */
  readonly kind: number;
  readonly startNs: bigint;
  readonly endNs: bigint;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** 0: unset, 2: error. */
  readonly status: number;
  readonly flags: number;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly resource: Readonly<Record<string, unknown>>;
  readonly schemaUrl: string;
}

/** A collector that receives OTLP over HTTP and decodes it by the published definitions. */
export interface OtlpReceiver {
  readonly url: string;
  readonly spans: readonly ReceivedSpan[];
  readonly headers: readonly Readonly<Record<string, unknown>>[];
  /** Returns the bytes of all exports as text. */
  text(): string;
  close(): Promise<void>;
}

/** Starts a collector. `answer` is its status, or "never" for no answer; `port`: default any. */
export async function startOtlpReceiver(
  options: { readonly answer?: number | "never"; readonly port?: number } = {},
): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const headers: Readonly<Record<string, unknown>>[] = [];
  const bodies: Buffer[] = [];
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    headers.push({ ...request.headers, ":path": request.url });
    const body = await buffer(request);
    bodies.push(body);
    spans.push(...spansOf(body));
    const { answer = 200 } = options;
    if (answer === "never") return;
    response.writeHead(answer, { "content-type": "application/x-protobuf" }).end();
  };
  const server = createServer((request, response) => void take(request, response));
  server.listen(options.port ?? 0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    headers,
    text: () => Buffer.concat(bodies).toString("latin1"),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

interface KeyValue {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

interface DecodedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly name: string;
  readonly kind: number;
  readonly flags: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly KeyValue[];
  readonly status: { readonly code: number } | null;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
}

interface DecodedRequest {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly KeyValue[] };
    readonly schemaUrl: string;
    readonly scopeSpans: readonly { readonly spans: readonly DecodedSpan[] }[];
  }[];
}

/** Decodes the body of one export of spans. */
export function spansOf(body: Buffer): readonly ReceivedSpan[] {
  const message = ExportTraceServiceRequest.decode(body);
  const shown = ExportTraceServiceRequest.toObject(message, {
    longs: String,
    bytes: String,
    defaults: true,
  });
  return (shown as DecodedRequest).resourceSpans.flatMap(({ resource, schemaUrl, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        traceId: hex(span.traceId),
        spanId: hex(span.spanId),
        parentSpanId: hex(span.parentSpanId),
        name: span.name,
        kind: span.kind,
        startNs: BigInt(span.startTimeUnixNano),
        endNs: BigInt(span.endTimeUnixNano),
        attributes: valuesOf(span.attributes),
        status: span.status?.code ?? 0,
        flags: span.flags,
        links: span.links.map((link) => ({
          traceId: hex(link.traceId),
          spanId: hex(link.spanId),
        })),
        resource: valuesOf(resource.attributes),
        schemaUrl,
      })),
    ),
  );
}

function hex(base64: string): string {
  return Buffer.from(base64, "base64").toString("hex");
}

function valuesOf(list: readonly KeyValue[]): Readonly<Record<string, unknown>> {
  return Object.fromEntries(list.map(({ key, value }) => [key, valueOf(value)]));
}

function valueOf(value: Readonly<Record<string, unknown>>): unknown {
  const [kind, found] = Object.entries(value).find(([, each]) => each !== null) ?? [];
  if (kind === "intValue") return Number(found);
  if (kind !== "arrayValue") return found;
  const { values } = found as { values: readonly Readonly<Record<string, unknown>>[] };
  return values.map(valueOf);
}
