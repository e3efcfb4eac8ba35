import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";

import { parse, parseAllDocuments } from "yaml";
import { orReport } from "./or-report.ts";

const HELM = process.env["HELM"] ?? "helm";
const ROOT = resolve(import.meta.dirname, "../..");
export const CHART: string = join(ROOT, "deploy/helm/tokenmarket");
/** Some builds of Helm assume Kubernetes 1.20, which the chart refuses, so a version is given. */
const KUBERNETES = ["--kube-version", "1.30.0"];

export const hasHelm: boolean = orReport(
  spawnSync(HELM, ["version", "--short"]).status === 0,
  "helm is not on PATH (helm.sh/helm/v3/cmd/helm@v3.22.0, or HELM): the chart was NOT tested",
);

type Values = Readonly<Record<string, unknown>>;

export const INSTALLATIONS: Readonly<Record<string, Values>> = {
  "as it comes": {},
  "everything on": valuesIn("test/deploy/values/everything.yaml"),
  "with objects of their own": valuesIn("test/deploy/values/brought-along.yaml"),
  "as the guide says": guidesValues(),
};

export function lintChart(values: Values) {
  return runHelm(["lint", CHART, "--strict", ...KUBERNETES], values);
}

export function renderChart(values: Values, release = "prod") {
  const args = ["template", release, CHART, "--namespace", "money", ...KUBERNETES];
  return runHelm(args, values);
}

export function objectsOf(values: Values, release?: string): readonly KubernetesObject[] {
  const { status, stdout, stderr } = renderChart(values, release);
  if (status !== 0) throw new Error(`helm template: ${stderr}`);
  return parseAllDocuments(stdout)
    .map((document) => document.toJS() as KubernetesObject | null)
    .filter((object) => object !== null);
}

export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: Values;
  readonly data?: Values;
}

function runHelm(args: readonly string[], values: Values) {
  const input = JSON.stringify(values);
  return spawnSync(HELM, [...args, "--values", "-"], { encoding: "utf8", input });
}

function valuesIn(file: string): Values {
  return parse(readFileSync(join(ROOT, file), "utf8")) as Values;
}

/** Returns the values of the guide's example, with a digest in place of the image's `…`. */
function guidesValues(): Values {
  const guide = readFileSync(join(ROOT, "docs/operating/kubernetes.md"), "utf8");
  const [, example = ""] = /```yaml\n(# values\.yaml\n[^`]+)```/.exec(guide) ?? [];
  return parse(example.replace("sha256:…", `sha256:${"a".repeat(64)}`)) as Values;
}
