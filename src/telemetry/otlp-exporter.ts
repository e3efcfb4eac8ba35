import { OTLPExporterBase } from "@opentelemetry/otlp-exporter-base";
import {
  convertLegacyHttpOptions,
  createOtlpHttpExportDelegate,
} from "@opentelemetry/otlp-exporter-base/node-http";

import type { Clock, Logger } from "../core/index.ts";
import type { PlainSpan } from "./build-spans.ts";
import { SCHEMA_URL, SCOPE_NAME } from "./names.ts";
import { type EncodedSpans, SpanBatch } from "./span-batch.ts";
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
const BATCH_SPANS_MIN = 512;
const BATCH_DELAY_MS = 500;
const EXPORT_TIMEOUT_MS = 10_000;
/** The exporter has ended by then; this is the bound should it not have. */
const SENDING_MS_MAX = 2 * EXPORT_TIMEOUT_MS;
/** A collector that is away would fail every batch: one line in this time says it. */
const FAULT_LOG_MS = 60_000;

/** Sends spans to a collector in batches, one after the other. Only the end of the process waits. */
export class OtlpTraceSender {
  readonly #options: OtlpOptions;
  readonly #exporter: OTLPExporterBase<EncodedSpans>;
  readonly #open: SpanBatch;
  readonly #full: EncodedSpans[] = [];
  /** In all batches that are not being sent yet. */
  #waiting = 0;
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | undefined;
  #nextFaultLogMs = 0;

  constructor(options: OtlpOptions) {
    this.#options = options;
    const { resource, version } = options;
    const scope = { name: SCOPE_NAME, version };
    this.#open = new SpanBatch({ resource, scope, schemaUrl: SCHEMA_URL });
    this.#exporter = exporterOf(options);
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
    for (const span of spans) this.#open.add(span, sinceEpochMs);
    if (this.#open.size >= BATCH_SPANS_MIN) this.#flush();
    else this.#timer ??= setTimeout(() => this.#flush(), BATCH_DELAY_MS).unref();
  }

  /** Sends what waits, as far as the collector takes it in time: a stop does not wait for it. */
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
    if (this.#open.size === 0) return;
    this.#full.push(this.#open.take());
    this.#sending ??= this.#sendAll();
  }

  async #sendAll(): Promise<void> {
    for (let next = this.#full.shift(); next !== undefined; next = this.#full.shift()) {
      this.#waiting -= next.spans;
      await this.#sendOne(next);
    }
    this.#sending = undefined;
  }

  async #sendOne(batch: EncodedSpans): Promise<void> {
    const { figures } = this.#options;
    const isTaken = await new Promise<boolean>((resolve) => {
      const late = setTimeout(() => resolve(false), SENDING_MS_MAX).unref();
      this.#exporter.export(batch, ({ code }) => {
        clearTimeout(late);
        resolve(EXPORTED.has(code));
      });
    });
    if (isTaken) figures.exported += batch.spans;
    else {
      figures.dropped += batch.spans;
      this.#noteFault();
    }
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

/** `ExportResultCode.SUCCESS`. */
const EXPORTED: ReadonlySet<number> = new Set([0]);

/** The HTTP of OTLP with its retries; what is sent was encoded before. */
function exporterOf({ url, headers }: OtlpOptions): OTLPExporterBase<EncodedSpans> {
  const http = convertLegacyHttpOptions(
    { url, headers: { ...headers }, timeoutMillis: EXPORT_TIMEOUT_MS, concurrencyLimit: 2 },
    "TRACES",
    "v1/traces",
    { "Content-Type": "application/x-protobuf" },
  );
  const serializer = {
    serializeRequest: ({ request }: EncodedSpans) => request,
    // What a collector says of spans that it did not take is not read: they are lost.
    deserializeResponse: () => ({}),
  };
  const counted = { name: "span", countItems: ({ spans }: EncodedSpans) => spans } as const;
  return new OTLPExporterBase(
    createOtlpHttpExportDelegate(http, serializer, "otlp_http_span_exporter", counted, undefined),
  );
}
