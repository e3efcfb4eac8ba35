import { readFileSync, writeFileSync } from "node:fs";

import { beforeAll, expect, test } from "vitest";

import { ask } from "../../support/ask.ts";
import {
  openAccountByCommands,
  operatorManifest,
  serve,
  withOperatorFolder,
} from "../../support/operator.ts";
import { freshDatabase } from "../../support/postgres.ts";
import { withSimulator } from "../../support/gateway.ts";
import { withResource } from "../../support/with-resource.ts";

/** The most by which one flood may raise the peak memory of the process. */
const GROWTH_KIB_MAX = 64 * 1024;

const simulator = withSimulator();
const folder = withOperatorFolder(simulator);
const database = withResource(freshDatabase, (opened) => opened.drop());
const env = () => ({ DATABASE_URL: database.connectionString });
const running = withResource(
  () => {
    const models = ["flood/warm", "flood/line", "flood/bomb", "flood/endless"];
    folder.writeManifest("first.json", operatorManifest(simulator.url, models));
    return serve(folder, env());
  },
  (program) => program.end("SIGTERM"),
);
let key = "";
beforeAll(async () => {
  ({ key } = await openAccountByCommands([], "5.00", env()));
});

test.skipIf(process.platform !== "linux").each([
  ["a line of 100 MB without an end", "flood/line", "long_line:100000000", 502, "gateway_error"],
  ["10 GB behind 10 MB of gzip", "flood/bomb", "gzip_bomb", 502, "gateway_error"],
  ["a stream without an end", "flood/endless", "endless", 200, undefined],
])("%s costs the process less than 64 MiB", async (_flood, model, fault, status, code) => {
  // Two warm-up answers keep permanent allocations out of the measurement.
  for (let i = 0; i < 2; i += 1) await flood({ model: "flood/warm", fault: "slow:1" });
  const beforeKiB = peakFromNow();
  const answer = await flood({ model, fault });
  expect(answer.status).toBe(status);
  expect(answer.headers["x-tm-error-code"]).toBe(code);
  expect(memoryKiB("VmHWM") - beforeKiB).toBeLessThan(GROWTH_KIB_MAX);
});

function flood(input: { readonly model: string; readonly fault: string }) {
  return ask(String(running.ready["gateway_url"]), {
    key,
    wire: "wire_a",
    model: input.model,
    stream: true,
    text: `hello [[fault:${input.fault}]]`,
  });
}

/** Resets the kernel's peak of resident memory; returns the resident KiB. */
function peakFromNow(): number {
  writeFileSync(`/proc/${running.process.pid}/clear_refs`, "5");
  return memoryKiB("VmRSS");
}

function memoryKiB(field: "VmRSS" | "VmHWM"): number {
  const status = readFileSync(`/proc/${running.process.pid}/status`, "utf8");
  const value = new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(status)?.[1];
  if (value === undefined) throw new Error(`the kernel does not report ${field}`);
  return Number(value);
}
