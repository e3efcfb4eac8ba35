import { defineConfig, type ViteUserConfig } from "vitest/config";

const config: ViteUserConfig = defineConfig({
  test: {
    include: [
      "src/**/*.test.ts",
      "console/src/**/*.test.ts",
      "test/**/*.test.ts",
      "bench/*.test.ts",
    ],
    globalSetup: ["test/support/global-postgres.ts", "test/support/global-console.ts"],
    pool: "forks",
    testTimeout: 60_000,
    hookTimeout: 120_000,
  },
});
export default config;
