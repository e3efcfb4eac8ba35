import type { Tracing } from "../call/trace.ts";
import { type Config, readPairList, type Clock, type Logger } from "../../kernel/index.ts";
import { buildSpans } from "./build-spans.ts";
import { type TraceFigures, TraceRules } from "./trace-rules.ts";
import { type NotesSink, RequestNotes } from "./request-notes.ts";

export interface TracingOptions {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Logger;
  /** The version of the program. */
  readonly version: string;
  /** Longest wait in milliseconds for the collector when the program stops. Default 2,000. */
  readonly closeMs?: number;
}

/** Tracing that is enabled. */
export interface OpenTracing extends Tracing {
  readonly figures: TraceFigures;
  /** Sends the waiting spans, as far as the collector accepts them in time. */
  close(): Promise<void>;
}

const CLOSE_MS = 2_000;

/** Opens tracing. Undefined if no endpoint is set; the exporter is then not loaded. */
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
  const sink: NotesSink = {
    clock,
    rules,
    export: (notes) => sender.send(buildSpans(notes)),
  };
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

/** The resource attributes of this process; the setting for its name takes precedence. */
function buildResource(config: Config, version: string): Record<string, string> {
  const given = Object.fromEntries(readPairList(config.telemetryResourceAttributes) ?? []);
  const name = config.telemetryServiceName || given["service.name"] || "tokenmarket";
  return { "service.version": version, ...given, "service.name": name };
}
