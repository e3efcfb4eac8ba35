import { spawnSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { stringify } from "yaml";

import { until } from "./books.ts";
import { freePort } from "./free-port.ts";
import { startTethered } from "./tethered-program.ts";
import { orReport } from "./or-report.ts";
import { newFolder } from "./run-folder.ts";

const PROGRAM = "prometheus";
const RULES = resolve(import.meta.dirname, "../../deploy/prometheus");
const RULE_FILES = ["recording.yml", "alerts.yml", "genai.yml"];

export const hasPrometheus: boolean = orReport(
  spawnSync(PROGRAM, ["--version"]).status === 0,
  "prometheus is not on PATH: dashboards and alerts were NOT tried on a real server",
);

interface Answered {
  readonly metric: Readonly<Record<string, string>>;
}

export type TestPrometheus = Awaited<ReturnType<typeof startPrometheus>>;

/** Starts Prometheus with the shipped rules; `areShort` makes seconds of their waiting times. */
export async function startPrometheus(targets: readonly string[], { areShort = false } = {}) {
  const folder = newFolder("prometheus");
  for (const file of RULE_FILES) {
    const text = readFileSync(join(RULES, file), "utf8");
    writeFileSync(join(folder, file), areShort ? shortened(text) : text);
  }
  const config = {
    global: { scrape_interval: "1s", scrape_timeout: "1s", evaluation_interval: "1s" },
    rule_files: RULE_FILES,
    scrape_configs: [{ job_name: "tokenmarket", static_configs: [{ targets }] }],
  };
  writeFileSync(join(folder, "prometheus.yml"), stringify(config));
  const port = await freePort();
  const server = await startTethered([
    PROGRAM,
    `--config.file=${join(folder, "prometheus.yml")}`,
    `--storage.tsdb.path=${join(folder, "data")}`,
    `--web.listen-address=127.0.0.1:${port}`,
  ]);
  const query = (expr: string) => asked(port, expr);
  const firing = async (): Promise<readonly string[]> => {
    const alerts = await query('ALERTS{alertstate="firing"}');
    return alerts.map(({ metric }) => metric["alertname"] ?? "");
  };
  await until("prometheus answers", () => query("up").catch(() => false));
  return {
    query,
    untilFiring: async (...names: readonly string[]) => {
      for (const name of names) {
        await patiently(`${name} fires`, async () => (await firing()).includes(name));
      }
    },
    /** Waits until each of these alerts has been quiet once; returns those that fire again. */
    untilQuiet: async (...names: readonly string[]) => {
      for (const name of names) {
        await patiently(`${name} is quiet`, async () => !(await firing()).includes(name));
      }
      return (await firing()).filter((name) => names.includes(name));
    },
    close: async () => {
      await server.kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Waits longer than other tests do, because some metrics are read from the books once a minute. */
async function patiently(what: string, isSo: () => Promise<boolean>): Promise<void> {
  await until(what, async () => (await isSo()) || sleep(500, false), 200_000);
}

function shortened(rules: string): string {
  return rules
    .replaceAll(/\[1d\]/g, "[180s]")
    .replaceAll(/\[\d+[mh]\]/g, "[10s]")
    .replaceAll(/offset \d+[mh]/g, "offset 10s")
    .replaceAll("< 3600)", "< 10)")
    .replaceAll(/^(\s+for:) .*$/gm, "$1 2s");
}

async function asked(port: number, expr: string): Promise<readonly Answered[]> {
  const answer = await fetch(`http://127.0.0.1:${port}/api/v1/query`, {
    method: "POST",
    body: new URLSearchParams({ query: expr }),
  });
  const { data, error } = (await answer.json()) as {
    readonly data?: { readonly result: readonly Answered[] };
    readonly error?: string;
  };
  if (data === undefined) throw new Error(`${expr}: ${error}`);
  return data.result;
}
