export { type OpenTracing, openTracing } from "./open-tracing.ts";
