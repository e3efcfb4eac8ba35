export { type OpenTracing, openTracing } from "./open-tracing.ts";
export type { TraceFigures } from "./trace-figures.ts";
