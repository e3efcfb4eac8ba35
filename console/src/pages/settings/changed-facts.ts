type Facts = Readonly<Record<string, unknown>> | null;

/** What a change changed, in one line: `cap usd: none → 12.500000`. */
export function changedFacts(before: Facts, after: Facts): string {
  const names = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})]);
  return [...names]
    .flatMap((name) => {
      const [was, is] = [wordOf(before?.[name]), wordOf(after?.[name])];
      if (was === is) return [];
      const label = name.replaceAll("_", " ");
      if (before === null) return [`${label}: ${is}`];
      return [after === null ? `${label} was ${was}` : `${label}: ${was} → ${is}`];
    })
    .join(", ");
}

function wordOf(value: unknown): string {
  if (value === null || value === undefined) return "none";
  if (value === true) return "yes";
  if (value === false) return "no";
  if (Array.isArray(value)) return value.map(String).join(", ");
  return typeof value === "string" ? value : JSON.stringify(value);
}
