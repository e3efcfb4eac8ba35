import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

import { describe, expect, test } from "vitest";
import { parse } from "yaml";

import { DASHBOARDS } from "../scripts/monitoring/dashboards.ts";
import { namedMetrics } from "../scripts/monitoring/named-metrics.ts";
import { ALERTS, RULE_FILES } from "../scripts/monitoring/rule-files.ts";
import { METRICS } from "../src/kernel/metrics/metrics-table.ts";
import { hasPromtool, promtoolRules } from "./support/promtool.ts";

const ROOT = resolve(import.meta.dirname, "..");
const PROMETHEUS = join(ROOT, "deploy/prometheus");
const CAUSED = join(ROOT, "test/e2e/alerts");
const RUNBOOK = readFileSync(join(ROOT, "docs/operating/alerts.md"), "utf8");
const PARTS = ["Means", "Check first", "Usual causes", "Repair"];

interface RuleFile {
  readonly groups: readonly { readonly rules: readonly Rule[] }[];
}

interface Rule {
  readonly alert?: string;
  readonly expr: string;
  readonly labels?: { readonly level: string };
  readonly annotations?: { readonly summary: string; readonly runbook: string };
}

interface TestFile {
  readonly tests: readonly {
    readonly alert_rule_test?: readonly {
      readonly alertname: string;
      readonly exp_alerts: readonly unknown[];
    }[];
  }[];
}

const rules = ["recording.yml", "alerts.yml", "genai.yml"].flatMap(rulesOf);
const alerts = rules.filter(({ alert }) => alert !== undefined);
const sorted = (names: readonly string[]): readonly string[] =>
  names.toSorted((a, b) => a.localeCompare(b));

function rulesOf(file: string): readonly Rule[] {
  const { groups } = parse(readFileSync(join(PROMETHEUS, file), "utf8")) as RuleFile;
  return groups.flatMap((group) => group.rules);
}

/** Returns the sections of a page by their heading, each with its text. */
function sections(text: string): ReadonlyMap<string, string> {
  const parts = text.split(/^## /m).slice(1);
  return new Map(parts.map((part) => [/^.*/.exec(part)?.[0] ?? "", part] as const));
}

describe("every alert", () => {
  test("has a section in the runbook page, and every section has an alert", () => {
    const names = alerts.map(({ alert = "" }) => alert);
    expect(names.length).toBe(23);
    const found = [...sections(RUNBOOK).keys()].filter((name) => name.startsWith("Tm"));
    expect(sorted(found)).toEqual(sorted(names));
    for (const { alert = "", annotations } of alerts) {
      expect(annotations?.runbook).toBe(`docs/operating/alerts.md#${alert.toLowerCase()}`);
    }
  });

  test("has a level, a summary, and a section with all four parts", () => {
    for (const { alert = "", labels, annotations } of alerts) {
      expect(["page", "ticket"], alert).toContain(labels?.level);
      expect(annotations?.summary, alert).toMatch(/^.+\.$/);
      const section = sections(RUNBOOK).get(alert) ?? "";
      expect(
        PARTS.filter((part) => !section.includes(`**${part}.** `)),
        alert,
      ).toEqual([]);
    }
  });

  test("has a rule test in which it fires and one in which it does not", () => {
    expect(withoutExamples(Object.keys(RULE_FILES).map(examplesOf))).toEqual([]);
    expect(withoutExamples([]).length).toBe(alerts.length);
  });

  test("has a deep test that makes it fire on a running gateway, as the runbook says", () => {
    const files = readdirSync(CAUSED).map((name) => readFileSync(join(CAUSED, name), "utf8"));
    // A title, or the first value of a row of a table of titles.
    const title = /^ +(?:test\(|\[)"((?:Tm\w+(?:, )?)+)(?:: |", "[a-z])/gm;
    const titles = files.flatMap((text) => [...text.matchAll(title)]);
    const caused = new Set(titles.flatMap(([, names = ""]) => names.split(", ")));
    expect(sorted([...caused])).toEqual(sorted(Object.keys(ALERTS)));
    expect(RUNBOOK).toContain(`**All ${caused.size} are caused on running gateways**`);
  });
});

function examplesOf(file: string): TestFile {
  if (!file.startsWith("tests/")) return { tests: [] };
  return parse(readFileSync(join(PROMETHEUS, file), "utf8")) as TestFile;
}

function withoutExamples(files: readonly TestFile[]): readonly string[] {
  const examples = files
    .flatMap(({ tests }) => tests)
    .flatMap((each) => each.alert_rule_test ?? []);
  const has = (name: string, isFiring: boolean): boolean =>
    examples.some((each) => each.alertname === name && each.exp_alerts.length > 0 === isFiring);
  return alerts
    .map(({ alert = "" }) => alert)
    .filter((name) => !has(name, true) || !has(name, false));
}

describe("Prometheus queries", () => {
  const panels = Object.values(DASHBOARDS).flatMap((dashboard) => dashboard.panels);
  const queries = panels.flatMap((panel) => Object.values(panel.queries));
  const page = [...RUNBOOK.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code);

  test("in rules, dashboards and runbooks use only metrics that the METRICS table declares", () => {
    for (const expr of [...rules.map((rule) => rule.expr), ...queries, ...page]) {
      expect(() => namedMetrics(expr), expr).not.toThrow();
    }
    expect(() => namedMetrics("rate(tm_requests_totals[5m])")).toThrow("is not in the one table");
    expect(() => namedMetrics("sum(tm_overhead_seconds)")).toThrow("is not in the one table");
  });

  test("use only labels that their metrics have", () => {
    expect([...rules.map((rule) => rule.expr), ...queries].flatMap(unknownLabels)).toEqual([]);
    expect(unknownLabels('sum by (org) (tm_circuit_open{modle="x"})')).toEqual([
      'modle: sum by (org) (tm_circuit_open{modle="x"})',
      'org: sum by (org) (tm_circuit_open{modle="x"})',
    ]);
  });

  test("of the dashboards together show every metric of the METRICS table", () => {
    const shown = new Set(queries.flatMap((expr) => [...namedMetrics(expr).keys()]));
    const missing = Object.keys(METRICS).filter(
      (name) => !shown.has(name) && !shown.has(`${name}_bucket`),
    );
    expect(missing).toEqual([]);
  });
});

/** Labels that Prometheus or the shipped rules add. */
const LABELS_OF_OTHERS = ["instance", "job", "le"];

function unknownLabels(expr: string): string[] {
  const names = [...namedMetrics(expr).keys()];
  const rows = Object.entries(METRICS).filter(([metric]) =>
    names.some((name) => name === metric || name.replace(/_(bucket|sum|count)$/, "") === metric),
  );
  const known = new Set([
    ...LABELS_OF_OTHERS,
    ...rows.flatMap(([, { labels = [] }]) => labels.map(({ name }) => name)),
    ...(names.some((name) => name.startsWith("tm:first_output")) ? ["provider", "model"] : []),
  ]);
  const matched = [...expr.matchAll(/[{,]\s*(\w+)(?:=|!=|=~|!~)"/g)].map(([, name = ""]) => name);
  const grouped = [...expr.matchAll(/\b(?:by|without|on) \(([^)]*)\)/g)].flatMap(([, list = ""]) =>
    list.split(/,\s*/),
  );
  return [...matched, ...grouped]
    .filter((name) => !known.has(name))
    .map((name) => `${name}: ${expr}`);
}

describe.skipIf(!hasPromtool)("promtool", () => {
  test("accepts every rule file, and every rule test passes", () => {
    const files = Object.keys(RULE_FILES).map((file) => join(PROMETHEUS, file));
    const isTest = (file: string): boolean => file.includes("/tests/");
    expect(
      promtoolRules(
        "check",
        files.filter((file) => !isTest(file)),
      ),
    ).toBe("");
    expect(promtoolRules("test", files.filter(isTest))).toBe("");
    expect(promtoolRules("check", [join(PROMETHEUS, "missing.yml")])).not.toBe("");
  });
});
