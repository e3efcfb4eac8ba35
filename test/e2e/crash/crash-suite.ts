import { test } from "vitest";

import { isDeep } from "../../support/depth.ts";
import { withResource } from "../../support/with-resource.ts";
import { openCrashFixture, type CrashFixture } from "./crash-fixture.ts";
import { expectRow, type MatrixRow } from "./crash-row.ts";
import { expectUnchanged, type Decided } from "./scenario.ts";

/** The crash environment of one test file, and every finished scenario of it. */
export interface CrashSuite {
  readonly fixture: CrashFixture;
  /** Records a finished scenario. A deep run then checks that no recorded one has changed. */
  decide(decided: Decided): Promise<void>;
  /** Registers one test for each row. */
  testRows(rows: readonly MatrixRow[]): void;
  /** Registers the last test: one more kill and start change nothing. */
  testUnchanged(): void;
}

/** Opens a crash environment for the tests of the calling file, and closes it after them. */
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
      test("another kill and a start of the shipped program change nothing in the books", async () => {
        await fixture.restart({ shipped: true });
        await expectUnchanged(fixture, decided);
      });
    },
  };
}
