import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** A chart reads nothing outside its own folder, so it has copies of these files. */
export interface ChartCopy {
  readonly path: string;
  /** Undefined: the original is gone, so the copy must go, too. */
  readonly text: string | undefined;
}

const COPIED = [
  { from: "deploy/prometheus", to: "deploy/helm/tokenmarket/files/prometheus", ending: ".yml" },
  { from: "deploy/grafana", to: "deploy/helm/tokenmarket/files/grafana", ending: ".json" },
];

/** The rules and dashboards of the chart, as they should be. */
export function chartCopies(root: string): readonly ChartCopy[] {
  return COPIED.flatMap(({ from, to, ending }) => {
    const originals = filesIn(join(root, from), ending);
    const names = new Set([...originals, ...filesIn(join(root, to), ending)]);
    return [...names].sort().map((name) => ({
      path: `${to}/${name}`,
      text: originals.includes(name) ? readFileSync(join(root, from, name), "utf8") : undefined,
    }));
  });
}

function filesIn(folder: string, ending: string): readonly string[] {
  try {
    return readdirSync(folder).filter((name) => name.endsWith(ending));
  } catch {
    return [];
  }
}
