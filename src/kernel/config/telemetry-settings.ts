import { headerListProblem, pairListProblem } from "./key-value-list.ts";
import { atMost, integer, text, type Setting } from "./setting.ts";

/** Which traces are kept, and where they go. */
export interface TelemetryConfig {
  readonly telemetryEndpoint: string;
  readonly telemetryTracesEndpoint: string;
  readonly telemetryHeaders: string;
  readonly telemetryServiceName: string;
  readonly telemetryResourceAttributes: string;
  readonly telemetrySamplePerMillion: number;
  readonly telemetrySlowMs: number;
  readonly telemetryKeptPerSecond: number;
  readonly telemetryIncoming: string;
  readonly telemetryPropagate: string;
}

const INCOMING: ReadonlySet<string> = new Set(["continue", "restart"]);

export const TELEMETRY_SETTINGS: {
  readonly [K in keyof TelemetryConfig]: Setting<TelemetryConfig[K]>;
} = {
  telemetryEndpoint: {
    path: "telemetry.endpoint",
    alsoEnv: ["OTEL_EXPORTER_OTLP_ENDPOINT"],
    kind: "string",
    fallback: "",
    problem: endpointProblem,
    doc:
      "Base address of an OpenTelemetry collector that takes OTLP over HTTP (`http://collector:4318`); traces go to " +
      "`/v1/traces` below it. Empty, with `telemetry.traces_endpoint` empty too: no traces are exported.",
  },
  telemetryTracesEndpoint: {
    path: "telemetry.traces_endpoint",
    alsoEnv: ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"],
    kind: "string",
    fallback: "",
    problem: endpointProblem,
    doc: "The whole address that traces are sent to, in place of `telemetry.endpoint`.",
  },
  telemetryHeaders: {
    path: "telemetry.headers",
    alsoEnv: ["OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"],
    kind: "string",
    fallback: "",
    secret: true,
    problem: headerListProblem,
    doc: "Headers of every export, as `name=value`, separated by commas; values are percent-decoded.",
  },
  telemetryServiceName: {
    alsoEnv: ["OTEL_SERVICE_NAME"],
    ...text(
      "telemetry.service_name",
      "",
      "`service.name` of the exported traces. Empty: that of `telemetry.resource_attributes`, or `tokenmarket`.",
    ),
  },
  telemetryResourceAttributes: {
    path: "telemetry.resource_attributes",
    alsoEnv: ["OTEL_RESOURCE_ATTRIBUTES"],
    kind: "string",
    fallback: "",
    problem: pairListProblem,
    doc: "Attributes of the exporting process, as `name=value`, separated by commas; values are percent-decoded.",
  },
  telemetrySamplePerMillion: atMost(
    integer(
      "telemetry.sample_per_million",
      10_000,
      0,
      "How many of a million requests are kept as traces by chance, from the trace id.",
    ),
    1_000_000,
  ),
  telemetrySlowMs: integer(
    "telemetry.slow_ms",
    30_000,
    1,
    "A request that took longer is kept as a trace, in milliseconds.",
  ),
  telemetryKeptPerSecond: atMost(
    integer(
      "telemetry.kept_per_second",
      50,
      2,
      "Most traces that a process keeps in any second; half of them are for failures.",
    ),
    10_000,
  ),
  telemetryIncoming: {
    path: "telemetry.incoming",
    kind: "string",
    fallback: "continue",
    problem: (value) => (INCOMING.has(value) ? undefined : "must be continue or restart"),
    doc:
      "What becomes of the `traceparent` of a caller whose key was accepted. `continue`: the request is part of the " +
      "caller's trace. `restart`: it has a trace of its own, with a link to the caller's.",
  },
  telemetryPropagate: text(
    "telemetry.propagate",
    "",
    "Ids of the providers that get a `traceparent`, separated by commas, or `*` for all. " +
      "They never get `tracestate` or `baggage`.",
  ),
};

function endpointProblem(value: string): string | undefined {
  if (value === "") return undefined;
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (url?.protocol !== "http:" && url?.protocol !== "https:") {
    return "must be an http or https address, for example http://127.0.0.1:4318";
  }
  const isPlain =
    url.username === "" && url.password === "" && url.search === "" && url.hash === "";
  return isPlain
    ? undefined
    : "must have no user, password, query or fragment; credentials go into telemetry.headers";
}
