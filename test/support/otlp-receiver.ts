import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";

import definitions from "otlp-definitions/build/src/generated/root.js";

import { at } from "./http-call.ts";
import { listenLocally } from "./local-server.ts";

interface Decoder {
  decode(bytes: Uint8Array): object;
  toObject(message: object, options: object): unknown;
}

/** The part of the generated definitions that decodes exported spans. */
const decoder = at(
  definitions,
  "opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest",
) as Decoder;

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

/** Starts a collector of OTLP over HTTP. `answer` is its status, or "never" for no answer. */
export async function startOtlpReceiver(
  options: { readonly answer?: number | "never"; readonly port?: number } = {},
) {
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
  const { url, close } = await listenLocally(server, options.port);
  /** Returns the bytes of all exports as text. */
  const text = (): string => Buffer.concat(bodies).toString("latin1");
  return { url, spans, headers, text, close };
}

interface KeyValue {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

interface DecodedSpan extends Pick<
  ReceivedSpan,
  "traceId" | "spanId" | "parentSpanId" | "name" | "kind" | "flags" | "links"
> {
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly KeyValue[];
  readonly status: { readonly code: number } | null;
}

interface DecodedRequest {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly KeyValue[] };
    readonly schemaUrl: string;
    readonly scopeSpans: readonly { readonly spans: readonly DecodedSpan[] }[];
  }[];
}

export function spansOf(body: Buffer): readonly ReceivedSpan[] {
  const form = { longs: String, bytes: String, defaults: true };
  const shown = decoder.toObject(decoder.decode(body), form);
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
        links: span.links.map(({ traceId, spanId }) => ({
          traceId: hex(traceId),
          spanId: hex(spanId),
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
