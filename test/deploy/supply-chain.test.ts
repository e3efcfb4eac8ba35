import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

import { describe, expect, test } from "vitest";
import { parse } from "yaml";

const ROOT = resolve(import.meta.dirname, "../..");
const FOLDER = ".github/workflows";
const COMMIT_AND_VERSION = /^ *(?:- )?uses: [\w.-]+\/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/;

const workflows = readdirSync(join(ROOT, FOLDER)).map((name) => {
  const text = readFileSync(join(ROOT, FOLDER, name), "utf8");
  return { ...(parse(text) as Workflow), name, text };
});

interface Workflow {
  readonly permissions: object;
  readonly jobs: Readonly<Record<string, Job>>;
}

interface Job {
  readonly permissions?: object;
  readonly "timeout-minutes"?: number;
  readonly steps: readonly { readonly run?: string; readonly uses?: string }[];
}

describe("workflows", () => {
  test("pin every action by its full commit, with the version beside it", () => {
    expect(workflows.map(({ name }) => name).toSorted()).toEqual(["check.yml", "release.yml"]);
    expect(workflows.flatMap(({ text }) => looseActions(text))).toEqual([]);
    const loose = [
      "      - uses: actions/checkout@v5",
      "      - uses: actions/checkout@08c6903cd8c0fde910a37f88322edcfb5dd907a8",
      "      - uses: actions/checkout@08c6903 # v5.0.0",
      "        uses: docker://alpine:3",
    ];
    expect(looseActions(loose.join("\n"))).toHaveLength(loose.length);
  });

  test("use the same commit of an action everywhere", () => {
    const found = workflows.flatMap(({ text }) => [...text.matchAll(/uses: ([\w/-]+)@(\w+)/g)]);
    expect(found.length).toBeGreaterThan(3);
    const names = new Set(found.map(([, name]) => name));
    expect(new Set(found.map(([whole]) => whole)).size).toBe(names.size);
  });

  test("have no permissions by default, and every job declares its own and a timeout", () => {
    for (const { permissions, jobs } of workflows) {
      expect(permissions).toEqual({});
      for (const job of Object.values(jobs)) {
        expect(job.permissions).toMatchObject({ contents: "read" });
        expect(job["timeout-minutes"]).toBeGreaterThan(0);
      }
    }
  });

  test("put no workflow expression into a shell command", () => {
    const jobs = workflows.flatMap((workflow) => Object.values(workflow.jobs));
    const steps = jobs.flatMap((job) => job.steps);
    expect(steps.length).toBeGreaterThan(3);
    expect(steps.filter(({ run }) => run?.includes("${{"))).toEqual([]);
  });

  test("release both targets of the Dockerfile with provenance and an SBOM, signed by digest", () => {
    const text = workflows.find(({ name }) => name === "release.yml")?.text ?? "";
    const dockerfile = readFileSync(join(ROOT, "Dockerfile"), "utf8");
    // The metrics of a released image report its commit.
    expect(text).toContain('--build-arg "BUILD_COMMIT=$GITHUB_SHA"');
    expect(dockerfile.match(/^ +TM_BUILD_COMMIT=\$BUILD_COMMIT \\$/gm)).toHaveLength(2);
    const targets = [...text.matchAll(/target: (\w+),/g)].map(([, target]) => target ?? "");
    expect(targets).toEqual(["gateway", "embedded"]);
    for (const target of targets) expect(dockerfile).toMatch(new RegExp(` AS ${target}\n`));
    const signed = ["--provenance=mode=max", "--sbom=true", 'cosign sign --yes --recursive "'];
    for (const part of signed) expect(text).toContain(part);
    expect(text).toContain('IMAGE=$image@$digest" >>');
    const named = [...text.matchAll(/(?:deploy|\.ci)\/[\w./-]+/g)].map(([path]) => path);
    expect(named.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });
});

function looseActions(text: string): readonly string[] {
  const lines = text.split("\n").filter((line) => /\buses:/.test(line));
  return lines.filter((line) => !COMMIT_AND_VERSION.test(line));
}
