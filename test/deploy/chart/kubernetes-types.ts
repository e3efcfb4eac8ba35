import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

import type { ServiceMonitor } from "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/ServiceMonitor";
import type { Deployment } from "kubernetes-models/apps/v1/Deployment";

import type { ChartObject, KubernetesObject } from "./render-chart.ts";

const ROOT = resolve(import.meta.dirname, "../../..");
const run = promisify(execFile);

/** Where the published type of an object is, by its group and version; undefined: not of Kubernetes. */
function moduleOf({ apiVersion, kind }: KubernetesObject): string {
  const maker = apiVersion.startsWith("monitoring.coreos.com/")
    ? "@kubernetes-models/prometheus-operator"
    : "kubernetes-models";
  return `${maker}/${apiVersion}/${kind}`;
}

type PublishedModel = new (data: KubernetesObject) => Deployment | ServiceMonitor;

/**
 * What is wrong with these objects by the published definitions of Kubernetes and of the Prometheus
 * Operator: values by the definitions' own checks, unknown and missing fields by the compiler.
 */
export async function typeProblems(objects: readonly ChartObject[]): Promise<readonly string[]> {
  const values = await Promise.all(objects.map(valueProblems));
  return [...values.flat(), ...(await fieldProblems(objects))];
}

async function valueProblems({ file, value }: ChartObject): Promise<readonly string[]> {
  const published = (await import(moduleOf(value))) as Readonly<Record<string, PublishedModel>>;
  const Model = published[value.kind];
  if (Model === undefined) return [`${file}: there is no ${value.apiVersion} ${value.kind}`];
  try {
    new Model(value).validate();
    return [];
  } catch (error) {
    return [`${file}: ${error instanceof Error ? error.message : String(error)}`];
  }
}

/** An object written out in a program may have no field that its type does not have. */
async function fieldProblems(objects: readonly ChartObject[]): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), "tokenmarket-chart-types-"));
  try {
    symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
    mkdirSync(join(folder, "objects"));
    objects.forEach(({ file, value }, at) => {
      const { kind } = value;
      writeFileSync(
        join(folder, "objects", `${file.replace(/\W/g, "-")}-${at}.ts`),
        `import type { I${kind} } from ${JSON.stringify(moduleOf(value))};\n` +
          `export const object: I${kind} = ${JSON.stringify(value)};\n`,
      );
    });
    const compilerOptions = {
      strict: true,
      noEmit: true,
      skipLibCheck: true,
      target: "es2022",
      lib: ["es2022"],
      module: "preserve",
      moduleResolution: "bundler",
      types: [],
    };
    writeFileSync(
      join(folder, "tsconfig.json"),
      JSON.stringify({ compilerOptions, include: ["objects"] }),
    );
    const tsc = join(ROOT, "node_modules/typescript/bin/tsc");
    const output = await run(process.execPath, [tsc, "-p", ".", "--pretty", "false"], {
      cwd: folder,
    }).then(
      ({ stdout }) => stdout,
      (error: { readonly stdout?: string; readonly message: string }) =>
        error.stdout === undefined || error.stdout === "" ? error.message : error.stdout,
    );
    return output.split("\n").filter((line) => line !== "");
  } finally {
    rmSync(folder, { recursive: true });
  }
}
