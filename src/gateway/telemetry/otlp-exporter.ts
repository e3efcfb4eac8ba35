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
  readonly resource: Readonly<Record<string, string>>;
  readonly version: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly figures: TraceFigures;
}

/** The most spans that may wait to be sent; a trace that would exceed this is dropped. */
const QUEUE_SPANS_MAX = 2_048;
const BATCH_SPANS_MIN = 512;
const BATCH_DELAY_MS = 500;
const EXPORT_TIMEOUT_MS = 10_000;
/** Bounds the wait for one export, in case the exporter misses its own timeout. */
const SENDING_MS_MAX = 2 * EXPORT_TIMEOUT_MS;
/** A failure is logged once in this time, because a collector that is down fails every batch. */
const FAULT_LOG_MS = 60_000;

/** Sends spans to a collector, one batch after another. Only `close` waits for the sending. */
export class OtlpTraceSender {
  readonly #options: OtlpOptions;
  readonly #exporter: OTLPExporterBase<SdkSpans>;
  readonly #process: ExportingProcess;
  #open: SdkSpan[] = [];
  readonly #full: SdkSpans[] = [];
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

  /** Takes all spans of a trace, or drops them all if the queue is too full. */
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

  /** Does not log the fault itself, because its text may contain the request's headers. */
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

/** The result code of a successful export (`ExportResultCode.SUCCESS`). */
const EXPORTED: ReadonlySet<number> = new Set([0]);

function buildExporter({ url, headers }: OtlpOptions): OTLPExporterBase<SdkSpans> {
  const http = convertLegacyHttpOptions(
    { url, headers: { ...headers }, timeoutMillis: EXPORT_TIMEOUT_MS, concurrencyLimit: 2 },
    "TRACES",
    "v1/traces",
    { "Content-Type": "application/x-protobuf" },
  );
  // The collector's answer is ignored, even if it names rejected spans.
  const serializer = { serializeRequest: encodeSpans, deserializeResponse: () => ({}) };
  const counted = { name: "span", countItems: (spans: SdkSpans) => spans.length } as const;
  return new OTLPExporterBase(
    createOtlpHttpExportDelegate(http, serializer, "otlp_http_span_exporter", counted, undefined),
  );
}

/** Encodes spans as an `ExportTraceServiceRequest` of OTLP 1. */
export function encodeSpans(spans: SdkSpans): Uint8Array | undefined {
  return ProtobufTraceSerializer.serializeRequest(spans);
}

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
    resource: resource as SdkSpan["resource"],
    instrumentationScope: { name: SCOPE_NAME, version, schemaUrl: SCHEMA_URL },
  };
}

const KINDS = { internal: 0, server: 1, client: 2 } as const;
const FAILED = 2;
// Every exported trace has this flag, even if it was chosen only when the request ended.
const SAMPLED = 0x01;
const SAMPLED_RANDOM = 0x03;

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

/** Returns seconds and nanoseconds, because one number is not precise enough. */
function hrTime(sinceEpochMs: number): [number, number] {
  const seconds = Math.floor(sinceEpochMs / 1_000);
  const nanoseconds = Math.round((sinceEpochMs - seconds * 1_000) * 1_000_000);
  return nanoseconds < 1_000_000_000 ? [seconds, nanoseconds] : [seconds + 1, 0];
}
