import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Files that take long for their size: they start processes, wait, or walk through pages. */
const LONG = [
  "/test/e2e/browser/every-page.deep.test.ts",
  "/test/e2e/crash/",
  "/test/e2e/operator/backup.test.ts",
  "/test/e2e/operator/first-run.test.ts",
  "/test/e2e/operator/packed-program.deep.test.ts",
  "/test/simulation/",
  "/test/e2e/images-faults.test.ts",
  "/test/e2e/conformance-",
  "/test/e2e/operator/embedded-database.test.ts",
  "/test/e2e/operator/workers.test.ts",
  "/test/e2e/suspect-listings.test.ts",
  "/test/e2e/videos-faults.test.ts",
  "/test/e2e/operator/schema.test.ts",
  "/test/e2e/operator/cli.test.ts",
  "/test/e2e/operator/doctor.test.ts",
  "/test/e2e/shared-limits.test.ts",
  "/test/e2e/require-verified.test.ts",
  "/test/e2e/console/teams.test.ts",
  "/test/e2e/console/usage.test.ts",
  "/test/e2e/money/overspend-instances.test.ts",
  "/test/e2e/clients/matrix.test.ts",
  "/test/e2e/faults/database",
  "/src/kernel/storage/embedded-",
];

/** Runs long files first, so that no worker is left with one at the end of its project. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const projects = [...new Set(sorted.map((file) => file.project.name))];
    return projects.flatMap((name) => {
      const own = sorted.filter((file) => file.project.name === name);
      return [...own.filter(isLong), ...own.filter((file) => !isLong(file))];
    });
  }
}

function isLong(file: TestSpecification): boolean {
  return LONG.some((part) => file.moduleId.includes(part));
}
