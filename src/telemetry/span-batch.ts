import type { AttributeValue, PlainSpan, SpanAttributes } from "./build-spans.ts";
import { ProtobufWriter } from "./protobuf-writer.ts";
import type { TraceContext } from "./trace-context.ts";

/** What all spans of a process have in common. */
export interface ExportingProcess {
  readonly resource: Readonly<Record<string, string>>;
  readonly scope: { readonly name: string; readonly version: string };
  readonly schemaUrl: string;
}

/** Spans in the form that a collector takes. */
export interface EncodedSpans {
  /** How many. */
  readonly spans: number;
  /** An `ExportTraceServiceRequest` of OTLP 1. */
  readonly request: Buffer;
}

/**
 * Puts spans into OTLP as they come: what waits for the collector is bytes, and no work is left for
 * the moment it is sent. The numbers are those of the fields in the published definitions.
 */
export class SpanBatch {
  readonly #process: ExportingProcess;
  readonly #spans = new ProtobufWriter();
  readonly #around = new ProtobufWriter();
  #count = 0;

  constructor(process: ExportingProcess) {
    this.#process = process;
  }

  get size(): number {
    return this.#count;
  }

  add(span: PlainSpan, sinceEpochMs: number): void {
    this.#count += 1;
    writeSpan(this.#spans, span, sinceEpochMs);
  }

  /** What was added; it is empty then. */
  take(): EncodedSpans {
    const { resource, scope, schemaUrl } = this.#process;
    const spans = this.#count;
    this.#count = 0;
    const out = this.#around;
    const resourceSpans = out.begin(1);
    const itself = out.begin(1);
    writeAttributes(out, resource, 1);
    out.end(itself);
    const scopeSpans = out.begin(2);
    const named = out.begin(1);
    out.text(1, scope.name);
    out.text(2, scope.version);
    out.end(named);
    out.append(this.#spans);
    out.text(3, schemaUrl);
    out.end(scopeSpans);
    out.text(3, schemaUrl);
    out.end(resourceSpans);
    return { spans, request: out.take() };
  }
}

const KINDS = { internal: 1, server: 2, client: 3 } as const;
const FAILED = 2;

function writeSpan(out: ProtobufWriter, span: PlainSpan, sinceEpochMs: number): void {
  const { context, parent, link } = span;
  const start = out.begin(2);
  out.hex(1, context.traceId);
  out.hex(2, context.spanId);
  if (parent !== undefined) out.hex(4, parent.spanId);
  out.text(5, span.name);
  out.integer(6, KINDS[span.kind]);
  out.nanoseconds(7, sinceEpochMs + span.startedMs);
  out.nanoseconds(8, sinceEpochMs + span.endedMs);
  writeAttributes(out, span.attributes, 9);
  if (link !== undefined) writeLink(out, link);
  if (span.hasFailed) {
    const status = out.begin(15);
    out.integer(3, FAILED);
    out.end(status);
  }
  out.fixed32(16, flagsOf(context, parent !== undefined && span.isParentRemote));
  out.end(start);
}

function writeLink(out: ProtobufWriter, link: TraceContext): void {
  const start = out.begin(13);
  out.hex(1, link.traceId);
  out.hex(2, link.spanId);
  out.fixed32(6, flagsOf(link, true));
  out.end(start);
}

// A trace that is kept is one that was sampled, whenever that was decided.
const SAMPLED = 0x01;
const SAMPLED_RANDOM = 0x03;
const KNOWS_WHETHER_REMOTE = 0x100;
const IS_REMOTE = 0x200;

/** `isRemote`: the parent of the span, or the link, is in another process. */
function flagsOf({ isRandom }: TraceContext, isRemote: boolean): number {
  const flags = (isRandom ? SAMPLED_RANDOM : SAMPLED) | KNOWS_WHETHER_REMOTE;
  return isRemote ? flags | IS_REMOTE : flags;
}

function writeAttributes(out: ProtobufWriter, attributes: SpanAttributes, field: number): void {
  for (const key in attributes) {
    const value = attributes[key];
    if (value === undefined) continue;
    const start = out.begin(field);
    out.text(1, key);
    const shown = out.begin(2);
    writeValue(out, value);
    out.end(shown);
    out.end(start);
  }
}

function writeValue(out: ProtobufWriter, value: AttributeValue): void {
  if (typeof value === "string") out.text(1, value);
  else if (typeof value === "boolean") out.integer(2, Number(value));
  else if (typeof value === "number") writeNumber(out, value);
  else {
    const list = out.begin(5);
    for (const text of value) {
      const one = out.begin(1);
      out.text(1, text);
      out.end(one);
    }
    out.end(list);
  }
}

function writeNumber(out: ProtobufWriter, value: number): void {
  if (Number.isInteger(value) && value >= 0) out.integer(3, value);
  else out.double(4, value);
}
