import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";

import { describe, expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";

import { hasHelm } from "../support/helm.ts";
import {
  CHART,
  INSTALLATIONS,
  objectsOf,
  valuesOf,
  withSampleFiles,
} from "./chart/chart-fixture.ts";
import { typeProblems } from "./chart/kubernetes-types.ts";
import { type ChartObject, type KubernetesObject, renderNotes } from "./chart/render-chart.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const sampled = withSampleFiles();
const rendered = INSTALLATIONS.map((installation) => objectsOf(installation, sampled));

test("the chart makes what an operator installs, and what is optional only when it is asked for", () => {
  const [plain = [], everything = [], brought = []] = rendered;
  expect(plain.map(kindAndName)).toEqual([
    "Deployment prod-tokenmarket",
    "HorizontalPodAutoscaler prod-tokenmarket",
    "CronJob prod-tokenmarket-ledger-audit",
    "ConfigMap prod-tokenmarket-manifests",
    "Job prod-tokenmarket-migrate",
    "NetworkPolicy prod-tokenmarket",
    "PodDisruptionBudget prod-tokenmarket",
    "ServiceAccount prod-tokenmarket",
    "Service prod-tokenmarket",
    "Service prod-tokenmarket-console",
    "Service prod-tokenmarket-internal",
    "CronJob prod-tokenmarket-settlement-close",
  ]);
  const more = everything.map(kindAndName).filter((each) => !plain.map(kindAndName).includes(each));
  expect(more).toEqual(
    expect.arrayContaining([
      "CronJob prod-tokenmarket-ledger-retire",
      "ServiceMonitor prod-tokenmarket",
      "PrometheusRule prod-tokenmarket-sample-rules",
      "ConfigMap prod-tokenmarket-dashboard-sample-board",
      "ServiceAccount gateways",
    ]),
  );
  const short = "gateways-with-a-name-of-more-than-t";
  expect(brought.map(kindAndName)).toEqual([
    `Deployment ${short}`,
    `CronJob ${short}-ledger-retire`,
    `Job ${short}-migrate`,
    `NetworkPolicy ${short}`,
    `PodDisruptionBudget ${short}`,
    `Service ${short}`,
    `Service ${short}-console`,
    `Service ${short}-internal`,
  ]);
});

function kindAndName({ value }: ChartObject): string {
  return `${value.kind} ${value.metadata.name}`;
}

test("every field is one of the published Kubernetes types, and each has a value it may have", async () => {
  const broken = (kind: string, from: string, to: string): ChartObject => {
    const found = rendered[1]?.find(({ value }) => value.kind === kind);
    const value = JSON.parse(JSON.stringify(found?.value).replace(from, to)) as KubernetesObject;
    return { file: `broken ${found?.file ?? ""}`, value };
  };
  const planted = [
    broken("Deployment", '"readOnlyRootFilesystem"', '"readOnlyRoot"'),
    broken("Deployment", '"serviceAccountName"', '"serviceAccountNames"'),
    broken("ServiceMonitor", '"scrapeTimeout"', '"timeout"'),
    broken("PodDisruptionBudget", '"AlwaysAllow"', '"Always"'),
    broken("CronJob", '"schedule"', '"scheduled"'),
    broken("NetworkPolicy", '"port":53', '"port":53,"until":"x"'),
  ];
  const objects = rendered.flat();
  expect(objects.length).toBeGreaterThan(30);
  const problems = await typeProblems([...objects, ...planted]);
  const noticed = problems.filter((problem) => /^(?:objects\/)?broken\W/.test(problem));
  expect(problems.filter((problem) => !noticed.includes(problem))).toEqual([]);
  for (const word of ["readOnlyRoot", "serviceAccountNames", "timeout", "scheduled", "until"]) {
    expect(noticed.join("\n")).toContain(`'"${word}"' does not exist`);
  }
  expect(noticed.join("\n")).toContain("unhealthyPodEvictionPolicy must be equal to one of");
  await expect(
    typeProblems([broken("Service", '"kind":"Service"', '"kind":"Serv"')]),
  ).rejects.toThrow("kubernetes-models/v1/Serv");
});

describe.skipIf(!hasHelm)("Helm itself", () => {
  test.each(INSTALLATIONS)("renders the same objects: %s", (installation) => {
    const at = INSTALLATIONS.indexOf(installation);
    const helm = spawnSync("helm", helmArguments(installation), {
      encoding: "utf8",
      input: JSON.stringify(valuesOf(installation)),
    });
    expect(helm.stderr.replaceAll(/^(?:walk|coalesce).*\n/gm, "")).toBe("");
    const theirs = parseAllDocuments(helm.stdout)
      .map((document) => document.toJS() as KubernetesObject | null)
      .filter((value) => value !== null);
    expect(byName(theirs)).toEqual(byName((rendered[at] ?? []).map(({ value }) => value)));
  });

  function helmArguments(installation: string): readonly string[] {
    const release = [
      "template",
      "prod",
      sampled,
      "--namespace",
      "money",
      "--kube-version",
      "1.31.0",
    ];
    return installation === "default" ? release : [...release, "--values", "-"];
  }

  function byName(objects: readonly KubernetesObject[]): Readonly<Record<string, unknown>> {
    const named = objects.map((value) => [`${value.kind} ${value.metadata.name}`, value]);
    expect(new Set(named.map(([name]) => name)).size).toBe(named.length);
    return Object.fromEntries(named) as Readonly<Record<string, unknown>>;
  }
});

test("the chart has the version of the program", () => {
  const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
    readonly version: string;
  };
  const chart = parse(readFileSync(join(CHART, "Chart.yaml"), "utf8")) as Readonly<
    Record<string, string>
  >;
  expect([chart["version"], chart["appVersion"]]).toEqual([version, version]);
});

test("after an installation it says what is where, and what is missing", () => {
  const release = { name: "prod", namespace: "money" };
  const plain = renderNotes(CHART, release);
  expect(plain).toContain("Gateway:  prod-tokenmarket, port 80\n");
  expect(plain).toContain("There are no manifests yet");
  expect(plain).not.toContain("REDIS_URL");
  const values = { secrets: { REDIS_URL: null }, manifests: { "a.json": "{}" } };
  const other = renderNotes(CHART, { ...release, values });
  expect(other).toContain("Without REDIS_URL each pod counts limits alone");
  expect(other).not.toContain("There are no manifests yet");
});
