import { OTLPExporterBase } from "@opentelemetry/otlp-exporter-base";
import {
  convertLegacyHttpOptions,
  createOtlpHttpExportDelegate,
} from "@opentelemetry/otlp-exporter-base/node-http";
import { ProtobufTraceSerializer } from "@opentelemetry/otlp-transformer";

import type { Clock, Logger } from "../../kernel/index.ts";
import { type PlainSpan, SCHEMA_URL, SCOPE_NAME } from "./build-spans.ts";
import type { TraceContext } from "./request-notes.ts";
import type { TraceFigures } from "./trace-rules.ts";

type SdkSpans = Parameters<typeof ProtobufTraceSerializer.serializeRequest>[0];
type SdkSpan = SdkSpans[number];

export interface OtlpOptions {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The resource of the exporting process. */
  readonly resource: Readonly<Record<string, string>>;
  readonly version: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly figures: TraceFigures;
}

/** The largest number of spans that wait to be sent; further ones are dropped. */
const QUEUE_SPANS_MAX = 2_048;
const BATCH_SPANS_MIN = 512;
const BATCH_DELAY_MS = 500;
const EXPORT_TIMEOUT_MS = 10_000;
/** The bound for an export that never ends, although the exporter has a shorter timeout. */
const SENDING_MS_MAX = 2 * EXPORT_TIMEOUT_MS;
/**
 * A failed export is logged once in this time, because a collector that is down fails every batch.
 */
const FAULT_LOG_MS = 60_000;

/**
 * Sends spans to a collector in batches, one after another. Nothing waits for it except `close`.
 */
export class OtlpTraceSender {
  readonly #options: OtlpOptions;
  readonly #exporter: OTLPExporterBase<SdkSpans>;
  readonly #process: ExportingProcess;
  #open: SdkSpan[] = [];
  readonly #full: SdkSpans[] = [];
  /** The number of spans that are not being sent yet. */
  #waiting = 0;
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | undefined;
  #nextFaultLogMs = 0;

  constructor(options: OtlpOptions) {
    this.#options = options;
    const { resource, version } = options;
    this.#process = exportingProcess(resource, version);
    this.#exporter = buildExporter(options);
  }

  /** Takes the spans of one trace, all or none. */
  send(spans: readonly PlainSpan[]): void {
    const { clock, figures } = this.#options;
    if (this.#waiting + spans.length > QUEUE_SPANS_MAX) {
      figures.dropped += spans.length;
      return;
    }
    this.#waiting += spans.length;
    const sinceEpochMs = clock.nowMs() - clock.monotonicMs();
    for (const span of spans) this.#open.push(sdkSpan(span, sinceEpochMs, this.#process));
    if (this.#open.length >= BATCH_SPANS_MIN) this.#flush();
    else this.#timer ??= setTimeout(() => this.#flush(), BATCH_DELAY_MS).unref();
  }

  /** Sends the waiting spans, for at most `closeMs`. */
  async close(closeMs: number): Promise<void> {
    this.#flush();
    const late = new Promise<void>((resolve) => {
      setTimeout(resolve, closeMs).unref();
    });
    await Promise.race([this.#sending, late]);
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#open.length === 0) return;
    this.#full.push(this.#open);
    this.#open = [];
    this.#sending ??= this.#sendAll();
  }

  async #sendAll(): Promise<void> {
    for (let next = this.#full.shift(); next !== undefined; next = this.#full.shift()) {
      this.#waiting -= next.length;
      await this.#sendOne(next);
    }
    this.#sending = undefined;
  }

  async #sendOne(batch: SdkSpans): Promise<void> {
    const { figures } = this.#options;
    const isTaken = await new Promise<boolean>((resolve) => {
      const late = setTimeout(() => resolve(false), SENDING_MS_MAX).unref();
      this.#exporter.export(batch, ({ code }) => {
        clearTimeout(late);
        resolve(EXPORTED.has(code));
      });
    });
    if (isTaken) figures.exported += batch.length;
    else {
      figures.dropped += batch.length;
      this.#noteFault();
    }
  }

  /** Logs without the fault itself, whose text may contain the request's headers. */
  #noteFault(): void {
    const { clock, log, figures } = this.#options;
    const nowMs = clock.monotonicMs();
    if (nowMs < this.#nextFaultLogMs) return;
    this.#nextFaultLogMs = nowMs + FAULT_LOG_MS;
    log.warn(
      { setting: "OTEL_EXPORTER_OTLP_ENDPOINT", dropped: figures.dropped },
      "the collector did not take traces: they are dropped; requests are not affected",
    );
  }
}

/** `ExportResultCode.SUCCESS`. */
const EXPORTED: ReadonlySet<number> = new Set([0]);

/** Builds the exporter for OTLP over HTTP, with its retries. */
function buildExporter({ url, headers }: OtlpOptions): OTLPExporterBase<SdkSpans> {
  const http = convertLegacyHttpOptions(
    { url, headers: { ...headers }, timeoutMillis: EXPORT_TIMEOUT_MS, concurrencyLimit: 2 },
    "TRACES",
    "v1/traces",
    { "Content-Type": "application/x-protobuf" },
  );
  // The collector's message about spans that it rejected is not read.
  const serializer = { serializeRequest: encodeSpans, deserializeResponse: () => ({}) };
  const counted = { name: "span", countItems: (spans: SdkSpans) => spans.length } as const;
  return new OTLPExporterBase(
    createOtlpHttpExportDelegate(http, serializer, "otlp_http_span_exporter", counted, undefined),
  );
}

/** An `ExportTraceServiceRequest` of OTLP 1. */
export function encodeSpans(spans: SdkSpans): Uint8Array | undefined {
  return ProtobufTraceSerializer.serializeRequest(spans);
}

/** The facts that all spans of a process have in common. */
type ExportingProcess = Pick<SdkSpan, "resource" | "instrumentationScope">;

export function exportingProcess(
  attributes: Readonly<Record<string, string>>,
  version: string,
): ExportingProcess {
  const resource: Pick<SdkSpan["resource"], "attributes" | "schemaUrl"> = {
    attributes,
    schemaUrl: SCHEMA_URL,
  };
  return {
    // The encoder reads only these fields of a resource.
    resource: resource as SdkSpan["resource"],
    instrumentationScope: { name: SCOPE_NAME, version, schemaUrl: SCHEMA_URL },
  };
}

const KINDS = { internal: 0, server: 1, client: 2 } as const;
const FAILED = 2;
// Every exported trace is marked as sampled, even if that was decided at its end.
const SAMPLED = 0x01;
const SAMPLED_RANDOM = 0x03;

/** Converts a span to the official SDK's format. */
export function sdkSpan(span: PlainSpan, sinceEpochMs: number, of: ExportingProcess): SdkSpan {
  const { name, kind, context, parent, link, attributes } = span;
  const startTime = hrTime(sinceEpochMs + span.startedMs);
  const endTime = hrTime(sinceEpochMs + span.endedMs);
  return {
    ...of,
    name,
    kind: KINDS[kind],
    spanContext: () => spanContext(context, false),
    ...(parent !== undefined && { parentSpanContext: spanContext(parent, span.isParentRemote) }),
    startTime,
    endTime,
    duration: [0, 0],
    ended: true,
    status: { code: span.hasFailed ? FAILED : 0 },
    attributes,
    links: link === undefined ? [] : [{ context: spanContext(link, true) }],
    events: [],
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

function spanContext(
  { traceId, spanId, isRandom }: TraceContext,
  isRemote: boolean,
): ReturnType<SdkSpan["spanContext"]> {
  return { traceId, spanId, traceFlags: isRandom ? SAMPLED_RANDOM : SAMPLED, isRemote };
}

/** Seconds and nanoseconds, which one number cannot hold. */
function hrTime(sinceEpochMs: number): [number, number] {
  const seconds = Math.floor(sinceEpochMs / 1_000);
  const nanoseconds = Math.round((sinceEpochMs - seconds * 1_000) * 1_000_000);
  return nanoseconds < 1_000_000_000 ? [seconds, nanoseconds] : [seconds + 1, 0];
}
