import type { Tracing } from "../call/trace.ts";
import { type Config, readPairList, type Clock, type Logger } from "../../kernel/index.ts";
import { buildSpans } from "./build-spans.ts";
import { type TraceFigures, TraceRules } from "./trace-rules.ts";
import { type NotesSink, RequestNotes } from "./request-notes.ts";

export interface TracingOptions {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Logger;
  readonly version: string;
  /** How long `close` waits for the collector, in milliseconds. Default 2,000. */
  readonly closeMs?: number;
}

export interface OpenTracing extends Tracing {
  readonly figures: TraceFigures;
  close(): Promise<void>;
}

const CLOSE_MS = 2_000;

/** Returns undefined if no endpoint is configured; the exporter is then not loaded at all. */
export async function openTracing(options: TracingOptions): Promise<OpenTracing | undefined> {
  const { config, clock, log, version, closeMs = CLOSE_MS } = options;
  const url = tracesUrl(config);
  if (url === undefined) return undefined;
  const { OtlpTraceSender } = await import("./otlp-exporter.ts");
  const rules = new TraceRules(config);
  const figures = {
    exported: 0,
    dropped: 0,
    get tracesAboveCeiling(): number {
      return rules.ceiling.refused;
    },
  };
  const headers = Object.fromEntries(readPairList(config.telemetryHeaders) ?? []);
  const resource = buildResource(config, version);
  const sender = new OtlpTraceSender({ url, headers, resource, version, clock, log, figures });
  const sink: NotesSink = { clock, rules, export: (notes) => sender.send(buildSpans(notes)) };
  return {
    begin: (request) => new RequestNotes(request, sink),
    figures,
    close: () => sender.close(closeMs),
  };
}

function tracesUrl(config: Config): string | undefined {
  const { telemetryTracesEndpoint: whole, telemetryEndpoint: base } = config;
  if (whole !== "") return whole;
  return base === "" ? undefined : `${base.replace(/\/+$/, "")}/v1/traces`;
}

/** `OTEL_SERVICE_NAME` takes precedence over `service.name` among the resource attributes. */
function buildResource(config: Config, version: string): Record<string, string> {
  const given = Object.fromEntries(readPairList(config.telemetryResourceAttributes) ?? []);
  const name = config.telemetryServiceName || given["service.name"] || "tokenmarket";
  return { "service.version": version, ...given, "service.name": name };
}
