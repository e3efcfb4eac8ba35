import { headerListProblem, pairListProblem } from "./listing-settings.ts";
import { integer, text } from "./setting.ts";

const INCOMING: ReadonlySet<string> = new Set(["continue", "restart"]);

export const TELEMETRY_SETTINGS = {
  telemetryEndpoint: text("telemetry.endpoint", "", {
    doc:
      "Base address of an OpenTelemetry collector that takes OTLP over HTTP (`http://collector:4318`); traces go to " +
      "`/v1/traces` below it. Empty, with `telemetry.traces_endpoint` empty too: no traces are exported.",
    alsoEnv: ["OTEL_EXPORTER_OTLP_ENDPOINT"],
    problem: endpointProblem,
  }),
  telemetryTracesEndpoint: text("telemetry.traces_endpoint", "", {
    doc: "The whole address that traces are sent to, in place of `telemetry.endpoint`.",
    alsoEnv: ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"],
    problem: endpointProblem,
  }),
  telemetryHeaders: text("telemetry.headers", "", {
    doc: "Headers of every export, as `name=value`, separated by commas; values are percent-decoded.",
    alsoEnv: ["OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"],
    secret: true,
    problem: headerListProblem,
  }),
  telemetryServiceName: text("telemetry.service_name", "", {
    doc: "`service.name` of the exported traces. Empty: that of `telemetry.resource_attributes`, or `tokenmarket`.",
    alsoEnv: ["OTEL_SERVICE_NAME"],
  }),
  telemetryResourceAttributes: text("telemetry.resource_attributes", "", {
    doc: "Attributes of the exporting process, as `name=value`, separated by commas; values are percent-decoded.",
    alsoEnv: ["OTEL_RESOURCE_ATTRIBUTES"],
    problem: pairListProblem,
  }),
  telemetrySamplePerMillion: integer("telemetry.sample_per_million", 10_000, {
    min: 0,
    max: 1_000_000,
    doc: "How many of a million requests are kept as traces by chance, from the trace id.",
  }),
  telemetrySlowMs: integer("telemetry.slow_ms", 30_000, {
    doc: "A request that took longer is kept as a trace, in milliseconds.",
  }),
  telemetryKeptPerSecond: integer("telemetry.kept_per_second", 50, {
    min: 2,
    max: 10_000,
    doc: "Most traces that a process keeps in any second; half of them are for failures.",
  }),
  telemetryIncoming: text("telemetry.incoming", "continue", {
    doc:
      "What becomes of the `traceparent` of a caller whose key was accepted. `continue`: the request is part of the " +
      "caller's trace. `restart`: it has a trace of its own, with a link to the caller's.",
    problem: (value) => (INCOMING.has(value) ? undefined : "must be continue or restart"),
  }),
  telemetryPropagate: text("telemetry.propagate", "", {
    doc:
      "Ids of the providers that get a `traceparent`, separated by commas, or `*` for all. " +
      "They never get `tracestate` or `baggage`.",
  }),
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
