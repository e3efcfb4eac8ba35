import { defineConfig, type ViteUserConfig } from "vitest/config";

import { LongestFirst } from "./test/support/longest-first.ts";

/** `deep`: every property with many fresh seeds, and the files that only a deep run has. */
const isDeep = process.env["TM_TEST_DEPTH"] === "deep";
const CONSOLE = "test/support/global-console.ts";
/** What measures processor time, loads or fills a machine: after all others, two at a time. */
const HEAVY = ["test/**/*.heavy.test.ts", "test/torture/**/*.test.ts", "**/*.heavy.deep.test.ts"];
const DEEP_ONLY = ["**/*.deep.test.ts"];
const exclude = isDeep ? [] : DEEP_ONLY;

/**
 * The projects run in this order, but `stores` and `e2e` are one group: neither waits for the last
 * file of the other. Files run side by side.
 * No file gets a worker of its own (`isolate: false`): what a file leaves behind, the next one of its
 * worker meets.
 */
const config: ViteUserConfig = defineConfig({
  test: {
    globalSetup: ["test/support/global-run.ts"],
    setupFiles: ["test/support/platform-fetch.ts", "test/support/fixed-seeds.ts"],
    sequence: { sequencer: LongestFirst },
    reporters: ["default", "./test/support/run-summary.ts"],
    projects: [
      {
        extends: true,
        test: {
          name: "unit",
          include: [
            "src/**/*.test.ts",
            "console/src/**/*.test.ts",
            "test/*.test.ts",
            "test/deploy/*.test.ts",
            "test/tidy/*.test.ts",
            "test/support/*.test.ts",
          ],
          exclude: [...exclude, ...HEAVY, "src/kernel/storage/**"],
          pool: "threads",
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: "stores",
          include: ["src/kernel/storage/**/*.test.ts", "test/backend-contract/**/*.test.ts"],
          exclude: [...exclude, ...HEAVY],
          pool: "forks",
          maxWorkers: 5,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: "e2e",
          include: ["test/e2e/**/*.test.ts", "test/simulation/**/*.test.ts"],
          exclude: [...exclude, ...HEAVY, "test/e2e/browser/**"],
          globalSetup: [CONSOLE],
          pool: "forks",
          maxWorkers: 5,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: "browser",
          include: ["test/e2e/browser/**/*.test.ts"],
          exclude,
          globalSetup: [CONSOLE],
          pool: "forks",
          maxWorkers: 3,
          sequence: { groupOrder: 2 },
        },
      },
      {
        extends: true,
        test: {
          name: "heavy",
          include: HEAVY,
          exclude,
          globalSetup: [CONSOLE],
          pool: "forks",
          maxWorkers: 2,
          sequence: { groupOrder: 3 },
        },
      },
    ],
    isolate: false,
    // What one project has compiled, the next ones read.
    experimental: { fsModuleCache: true },
    // For what a page shows in its own time: a busy machine is not a failure.
    expect: { poll: { timeout: 30_000, interval: 50 } },
    testTimeout: isDeep ? 900_000 : 120_000,
    hookTimeout: isDeep ? 900_000 : 180_000,
  },
});
export default config;
