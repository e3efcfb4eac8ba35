import { test } from "vitest";

import { isDeep } from "../../support/depth.ts";
import { withResource } from "../../support/with-resource.ts";
import { openCrashFixture, type CrashFixture } from "./crash-fixture.ts";
import { expectRow, type MatrixRow } from "./crash-row.ts";
import { expectUnchanged, type Decided } from "./scenario.ts";

/** The crash environment of one test file, and every finished scenario of it. */
export interface CrashSuite {
  readonly fixture: CrashFixture;
  /** Notes a decision that must not change any more; a deep run reads all of it after every scenario. */
  decide(decided: Decided): Promise<void>;
  /** Registers one test for each row. */
  testRows(rows: readonly MatrixRow[]): void;
  /** Registers the last test: after one more kill and start, nothing has changed. */
  testUnchanged(): void;
}

/**
 * Opens a crash environment before the tests of the file that calls this, and closes it behind
 * them.
 */
export function crashSuite(): CrashSuite {
  const fixture = withResource(() => openCrashFixture());
  const decided: Decided[] = [];
  const decide = async (more: Decided): Promise<void> => {
    decided.push(more);
    if (isDeep) await expectUnchanged(fixture, decided);
  };
  return {
    fixture,
    decide,
    testRows: (rows) => {
      test.each(rows.map((row) => [row.promise, row] as const))("%s", async (_promise, row) =>
        decide(await expectRow(fixture, row)),
      );
    },
    testUnchanged: () => {
      test("another kill, and a start of the program as it is shipped, change nothing", async () => {
        await fixture.restart({ shipped: true });
        await expectUnchanged(fixture, decided);
      });
    },
  };
}
