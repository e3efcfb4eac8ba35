import type { Reporter, TestModule } from "vitest/node";

import { clientsNotRun } from "./clients/deep-clients.ts";

const SLOWEST_FILES = 10;

/** Reports the tests of each project, the ten slowest files, and the clients that were left out. */
export default class RunSummary implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    if (modules.length < SLOWEST_FILES) return;
    process.stdout.write(`\n${summaryOf(modules)}\n${leftOut()}`);
  }
}

function summaryOf(modules: readonly TestModule[]): string {
  const names = [...new Set(modules.map((module) => module.project.name))];
  const byProject = names.map((name) => {
    const files = modules.filter((module) => module.project.name === name);
    const tests = files.reduce((sum, file) => sum + [...file.children.allTests()].length, 0);
    return `  ${name}: ${tests} tests, ${files.length} files, ${seconds(files)} s in all workers`;
  });
  const slowest = [...modules]
    .sort((a, b) => durationMsOf(b) - durationMsOf(a))
    .slice(0, SLOWEST_FILES)
    .map((file) => `  ${seconds([file])} s  ${file.relativeModuleId}`);
  return ["Tests by project:", ...byProject, "The ten slowest files:", ...slowest].join("\n");
}

function leftOut(): string {
  const clients = clientsNotRun();
  if (clients.length === 0) return "";
  const lines = ["Clients NOT RUN here (npm run check:deep runs them):", ...clients];
  return `${lines.join("\n  ")}\n`;
}

function seconds(files: readonly TestModule[]): string {
  return (files.reduce((sum, file) => sum + durationMsOf(file), 0) / 1_000).toFixed(1);
}

function durationMsOf(file: TestModule): number {
  const { duration, collectDuration, setupDuration } = file.diagnostic();
  return duration + collectDuration + setupDuration;
}
