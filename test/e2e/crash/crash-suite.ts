import { afterAll, beforeAll, test } from "vitest";

import { isDeep } from "../../support/depth.ts";
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
  let opened: CrashFixture | undefined;
  const decided: Decided[] = [];
  beforeAll(async () => {
    opened = await openCrashFixture();
  });
  afterAll(() => opened?.close());
  const suite: CrashSuite = {
    get fixture() {
      if (opened === undefined) throw new Error("the environment opens before the first test");
      return opened;
    },
    decide: async (more) => {
      decided.push(more);
      if (isDeep) await expectUnchanged(suite.fixture, decided);
    },
    testRows: (rows) => {
      test.each(rows.map((row) => [row.promise, row] as const))("%s", async (_promise, row) =>
        suite.decide(await expectRow(suite.fixture, row)),
      );
    },
    testUnchanged: () => {
      test("another kill, and a start of the program as it is shipped, change nothing", async () => {
        await suite.fixture.restart({ shipped: true });
        await expectUnchanged(suite.fixture, decided);
      });
    },
  };
  return suite;
}
