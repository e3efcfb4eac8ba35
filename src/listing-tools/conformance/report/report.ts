import type { CheckId, CheckReport, CheckStatus, Evidence } from "./finding.ts";
import type { ProviderVerdict, Verdict } from "./verdict.ts";

/** Contains no key, no prompt, and no long text of a provider. */
export interface ConformanceReport {
  readonly report_version: "1";
  readonly provider: string;
  /** SHA-256 of the manifest's bytes, hexadecimal. */
  readonly manifest_sha256: string;
  readonly started_at: string;
  readonly duration_ms: number;
  readonly spend_usd: string;
  readonly is_complete: boolean;
  readonly verdict: ProviderVerdict;
  readonly models: readonly ModelReport[];
}

export interface ModelReport {
  readonly id: string;
  readonly upstream_id: string;
  /** False for a staged listing, which the provider's verdict ignores. */
  readonly ready: boolean;
  readonly verdict: Verdict;
  readonly checks: readonly CheckLine[];
}

export interface CheckLine {
  readonly id: CheckId;
  readonly status: CheckStatus;
  readonly title: string;
  readonly message: string;
  readonly ms: number;
  readonly evidence?: Evidence;
}

export function checkLine(report: CheckReport): CheckLine {
  const { id, status, title, message, durationMs, evidence } = report;
  return { id, status, title, message, ms: durationMs, ...(evidence && { evidence }) };
}

/** Markdown: a table of models, and a line for each warning, failure and error. */
export function markdownReport(report: ConformanceReport): string {
  const ids = [...new Set(report.models.flatMap(({ checks }) => checks.map(({ id }) => id)))];
  const rows = report.models.map(({ id, ready, verdict, checks }) => {
    const cells = ids.map((each) => checks.find((check) => check.id === each)?.status ?? "");
    return `| ${cell(id)}${ready ? "" : " (staged)"} | **${verdict}** | ${cells.join(" | ")} |`;
  });
  const lines = report.models.flatMap(({ id, checks }) =>
    checks
      .filter(({ status }) => status !== "pass" && status !== "skip")
      .map(
        (each) =>
          `- ${cell(id)}: **${each.id} ${each.title}** (${each.status}): ${cell(each.message)}`,
      ),
  );
  return [
    `# Conformance of ${report.provider}: ${report.verdict}`,
    "",
    `Run at ${report.started_at} for ${Math.round(report.duration_ms / 1000)} s and $${report.spend_usd}, manifest ${report.manifest_sha256.slice(0, 12)}${report.is_complete ? "" : ", ended early"}.`,
    "",
    `| Model | Verdict | ${ids.join(" | ")} |`,
    `| --- | --- | ${ids.map(() => "---").join(" | ")} |`,
    ...rows,
    ...(lines.length === 0 ? [] : ["", ...lines]),
    "",
  ].join("\n");
}

function cell(text: string): string {
  return text.replaceAll(/[|\r\n<>`*[\]\\]/g, (char) =>
    char === "\n" || char === "\r" ? " " : `\\${char}`,
  );
}

/** JUnit XML. Failed checks of a staged model are not written as failures. */
export function junitReport(report: ConformanceReport): string {
  const suites = report.models.map((model) => junitSuite(report, model));
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="conformance of ${xml(report.provider)}">\n${suites.join("\n")}\n</testsuites>\n`;
}

function junitSuite({ provider }: ConformanceReport, model: ModelReport): string {
  const { id, ready, checks } = model;
  const count = (...statuses: readonly CheckStatus[]): number =>
    checks.filter(({ status }) => statuses.includes(status)).length;
  const failures = ready ? count("fail") : 0;
  const cases = checks.map((check) => junitCase(`${provider}.${id}`, check, ready));
  return [
    `  <testsuite name="${xml(id)}" tests="${checks.length}" failures="${failures}" errors="${count("error")}" skipped="${count("skip")}">`,
    ...cases,
    "  </testsuite>",
  ].join("\n");
}

function junitCase(className: string, check: CheckLine, ready: boolean): string {
  const head = `    <testcase classname="${xml(className)}" name="${check.id} ${xml(check.title)}" time="${check.ms / 1000}"`;
  const detail = renderDetail(check, ready);
  return detail === undefined ? `${head}/>` : `${head}>${detail}</testcase>`;
}

function renderDetail({ status, message }: CheckLine, ready: boolean): string | undefined {
  if (status === "skip") return `<skipped message="${xml(message)}"/>`;
  if (status === "error") return `<error message="${xml(message)}"/>`;
  if (status === "fail" && ready) return `<failure message="${xml(message)}"/>`;
  return status === "pass" ? undefined : `<system-out>${xml(`${status}: ${message}`)}</system-out>`;
}

const XML_ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&apos;",
};

function xml(text: string): string {
  return text.replaceAll(/\p{C}/gu, " ").replaceAll(/[&<>"']/g, (char) => XML_ENTITIES[char] ?? "");
}
