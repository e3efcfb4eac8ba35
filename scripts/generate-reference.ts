import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { publishedSchema } from "../src/catalog/manifest/index.ts";
import { chartCopies, chartSchema } from "./reference/chart.ts";
import { DASHBOARDS } from "./monitoring/dashboards.ts";
import { dashboardText } from "./monitoring/panel.ts";
import { RULE_FILES } from "./monitoring/rule-files.ts";
import { manifestPage } from "./reference/manifest-page.ts";
import {
  configPage,
  errorsGuide,
  errorsPage,
  headersPage,
  metricsPage,
  movingInPage,
  rolesPage,
  webhooksGuide,
} from "./reference/pages.ts";
import { consoleDocument } from "./reference/console-openapi/document.ts";
import { gatewayDocument } from "./reference/openapi/document.ts";

/** `path` is relative to the project folder. */
interface ReferencePage {
  readonly path: string;
  readonly text: () => string;
}

/** A new page needs one line here and one function in reference/. */
const PAGES: readonly ReferencePage[] = [
  { path: "schema/provider-manifest.schema.json", text: () => jsonText(publishedSchema()) },
  { path: "schema/openapi-v1.json", text: () => jsonText(gatewayDocument()) },
  { path: "schema/openapi-console.json", text: () => pathsText(consoleDocument()) },
  { path: "deploy/helm/tokenmarket/values.schema.json", text: () => jsonText(chartSchema()) },
  { path: "docs/reference/errors.md", text: errorsPage },
  { path: "docs/guides/errors.md", text: errorsGuide },
  { path: "docs/guides/webhooks.md", text: webhooksGuide },
  { path: "docs/reference/headers.md", text: headersPage },
  { path: "docs/reference/config.md", text: configPage },
  { path: "docs/reference/manifest.md", text: manifestPage },
  { path: "docs/reference/metrics.md", text: metricsPage },
  { path: "docs/reference/moving-in.md", text: movingInPage },
  { path: "docs/reference/roles.md", text: rolesPage },
  ...Object.entries(RULE_FILES).map(([file, text]) => ({
    path: `deploy/prometheus/${file}`,
    text,
  })),
  ...Object.entries(DASHBOARDS).map(([id, dashboard]) => ({
    path: `deploy/grafana/${id}.json`,
    text: () => dashboardText(id, dashboard),
  })),
];

/** Returns the generated files that are out of date on disk. */
export function staleReferencePages(root: string): readonly string[] {
  const pages = PAGES.map(({ path, text }) => ({ path, text: text() }));
  return [...pages, ...chartCopies(root)]
    .filter(({ path, text }) => textOf(join(root, path)) !== text)
    .map(({ path }) => path);
}

function writeReferencePages(root: string): void {
  for (const { path, text } of PAGES) write(join(root, path), text());
  for (const { path, text } of chartCopies(root)) {
    if (text === undefined) rmSync(join(root, path));
    else write(join(root, path), text);
  }
}

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

function jsonText(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

/** Writes each path on a line of its own: this document repeats its schemas, so it is long. */
function pathsText(document: object): string {
  const text = linesText(document, (part, name) =>
    name === "paths" ? linesText(part as object) : JSON.stringify(part),
  );
  return `${text}\n`;
}

function linesText(
  value: object,
  show: (part: unknown, name: string) => string = (part) => JSON.stringify(part),
): string {
  const lines = Object.entries(value).map(([name, part]: [string, unknown]) => {
    return `${JSON.stringify(name)}: ${show(part, name)}`;
  });
  return `{\n${lines.join(",\n")}\n}`;
}

function textOf(file: string): string | undefined {
  return existsSync(file) ? readFileSync(file, "utf8") : undefined;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeReferencePages(join(import.meta.dirname, ".."));
}
