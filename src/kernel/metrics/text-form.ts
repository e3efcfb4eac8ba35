/** The two forms of Prometheus' text: the older one, and OpenMetrics, which has exemplars. */
export type TextForm = "classic" | "openmetrics";

/** `{a="1",b="2"}`; empty without labels. */
export function labelText(names: readonly string[], values: readonly string[]): string {
  if (names.length === 0) return "";
  return `{${namedValues(names, values)}}`;
}

/** `a="1",b="2"` */
export function namedValues(names: readonly string[], values: readonly string[]): string {
  return names.map((name, at) => `${name}="${escapeLabel(values[at] ?? "")}"`).join(",");
}

/** A bound as both forms have it, so that a series has one name: with a point, always. */
export function boundText(bound: number): string {
  return Number.isInteger(bound) ? `${bound}.0` : String(bound);
}

/** The lines in front of a metric's samples. */
export function headText(
  form: TextForm,
  metric: { readonly name: string; readonly type: string; readonly help: string },
): string {
  const { name, type } = metric;
  // OpenMetrics names a counter without the ending of its samples.
  const family = form === "openmetrics" && type === "counter" ? name.replace(/_total$/, "") : name;
  const help = metric.help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
  const quoted = form === "openmetrics" ? help.replaceAll('"', '\\"') : help;
  return `# HELP ${family} ${quoted}\n# TYPE ${family} ${type}\n`;
}

function escapeLabel(value: string): string {
  if (!/["\\\n]/.test(value)) return value;
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
