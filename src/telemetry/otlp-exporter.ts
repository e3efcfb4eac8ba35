import { SpanKind, SpanStatusCode, TraceFlags, type SpanContext } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { type Resource, resourceFromAttributes } from "@opentelemetry/resources";
import { BatchSpanProcessor, type ReadableSpan, type SpanExporter } from "@opentelemetry/sdk-trace";

import type { Clock, Logger } from "../core/index.ts";
import type { PlainSpan } from "./build-spans.ts";
import { SCHEMA_URL, SCOPE_NAME } from "./names.ts";
import type { TraceFigures } from "./trace-figures.ts";

export interface OtlpOptions {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Of the exporting process. */
  readonly resource: Readonly<Record<string, string>>;
  readonly version: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly figures: TraceFigures;
}

/** Spans that wait to be sent, at most: what comes on top of them is dropped. */
const QUEUE_SPANS_MAX = 2_048;
const BATCH_SPANS_MAX = 512;
const BATCH_DELAY_MS = 500;
const EXPORT_TIMEOUT_MS = 10_000;
/** A collector that is away would fail every batch: one line in this time says it. */
const FAULT_LOG_MS = 60_000;

/** Sends spans to a collector in batches. Only the end of the process waits for it. */
export class OtlpTraceSender {
  readonly #options: OtlpOptions;
  readonly #processor: BatchSpanProcessor;
  readonly #process: ExportingProcess;
  #waiting = 0;
  #nextFaultLogMs = 0;

  constructor(options: OtlpOptions) {
    this.#options = options;
    const { url, headers, version } = options;
    this.#process = {
      resource: resourceFromAttributes(options.resource, { schemaUrl: SCHEMA_URL }),
      scope: { name: SCOPE_NAME, version, schemaUrl: SCHEMA_URL },
    };
    const exporter = new OTLPTraceExporter({
      url,
      headers: { ...headers },
      timeoutMillis: EXPORT_TIMEOUT_MS,
      concurrencyLimit: 2,
    });
    this.#processor = new BatchSpanProcessor({
      exporter: this.#counting(exporter),
      maxQueueSize: QUEUE_SPANS_MAX,
      maxExportBatchSize: BATCH_SPANS_MAX,
      scheduledDelayMillis: BATCH_DELAY_MS,
      // The exporter has ended by then; this is the bound should it not have.
      exportTimeoutMillis: 2 * EXPORT_TIMEOUT_MS,
    });
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
    for (const span of spans)
      this.#processor.onEnd(new KeptSpan(span, sinceEpochMs, this.#process));
  }

  /** Sends what waits, as far as the collector takes it in time: a stop does not wait for it. */
  async close(closeMs: number): Promise<void> {
    const late = new Promise<void>((resolve) => {
      setTimeout(resolve, closeMs).unref();
    });
    await Promise.race([this.#processor.shutdown().catch(() => undefined), late]);
  }

  #counting(exporter: SpanExporter): SpanExporter {
    const { figures } = this.#options;
    return {
      export: (spans, done) => {
        this.#waiting -= spans.length;
        exporter.export(spans, (result) => {
          if (EXPORTED.has(result.code)) figures.exported += spans.length;
          else {
            figures.dropped += spans.length;
            this.#noteFault();
          }
          done(result);
        });
      },
      shutdown: () => exporter.shutdown(),
    };
  }

  /** Without the fault itself: its text may name what was sent with the request. */
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

/** What all spans have in common. */
interface ExportingProcess {
  readonly resource: Resource;
  readonly scope: ReadableSpan["instrumentationScope"];
}

/** A span in the terms of the exporter. */
class KeptSpan implements ReadableSpan {
  readonly name: string;
  readonly kind: SpanKind;
  readonly startTime: [number, number];
  readonly endTime: [number, number];
  readonly duration: [number, number];
  readonly status: ReadableSpan["status"];
  readonly attributes: ReadableSpan["attributes"];
  readonly links: ReadableSpan["links"];
  readonly events: ReadableSpan["events"] = NONE;
  readonly ended = true;
  readonly resource: Resource;
  readonly instrumentationScope: ReadableSpan["instrumentationScope"];
  readonly droppedAttributesCount = 0;
  readonly droppedEventsCount = 0;
  readonly droppedLinksCount = 0;
  readonly parentSpanContext?: SpanContext;
  readonly #context: SpanContext;

  constructor(span: PlainSpan, sinceEpochMs: number, { resource, scope }: ExportingProcess) {
    const { parent, link } = span;
    this.name = span.name;
    this.kind = KINDS[span.kind];
    this.startTime = hrTime(sinceEpochMs + span.startedMs);
    this.endTime = hrTime(sinceEpochMs + span.endedMs);
    this.duration = hrTime(span.endedMs - span.startedMs);
    this.status = span.hasFailed ? FAILED : UNSET;
    this.attributes = span.attributes;
    this.links = link === undefined ? NONE : [{ context: spanContext(link, true) }];
    this.resource = resource;
    this.instrumentationScope = scope;
    if (parent !== undefined) this.parentSpanContext = spanContext(parent, span.isParentRemote);
    this.#context = spanContext(span.context, false);
  }

  spanContext(): SpanContext {
    return this.#context;
  }
}

const KINDS = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  internal: SpanKind.INTERNAL,
} as const;
const FAILED = { code: SpanStatusCode.ERROR };
const UNSET = { code: SpanStatusCode.UNSET };
/** `ExportResultCode.SUCCESS`. */
const EXPORTED: ReadonlySet<number> = new Set([0]);
const NONE: never[] = [];

function spanContext(at: PlainSpan["context"], isRemote: boolean): SpanContext {
  const { traceId, spanId, isRandom } = at;
  // A trace that is kept is one that was sampled, whenever that was decided.
  const traceFlags = isRandom ? SAMPLED_RANDOM : TraceFlags.SAMPLED;
  return { traceId, spanId, traceFlags, isRemote };
}

const SAMPLED_RANDOM = 0x03;

function hrTime(ms: number): [number, number] {
  const seconds = Math.floor(ms / 1_000);
  return [seconds, Math.round((ms - seconds * 1_000) * 1_000_000)];
}
