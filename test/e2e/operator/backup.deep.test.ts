import { readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { expect, test } from "vitest";

import { verifyBackup } from "../../../src/app/backup/restore-backup.ts";
import { startEmbeddedPostgres } from "../../../src/kernel/index.ts";
import { openBackupFixture } from "../../support/backup-fixture.ts";
import { killPostmaster } from "../../support/postgres-processes.ts";
import { silentLog as log } from "../../support/silent-log.ts";

test.each([1, 2, 3])(
  "a backup whose server is killed leaves no files, and the next backup is complete, round %i",
  async () => {
    const killed = await openBackupFixture();
    try {
      const copying = killed.backUp().then(
        () => "made",
        () => "failed",
      );
      const isUnderWay = (): boolean =>
        readdirSync(killed.root).includes("backups") && readdirSync(killed.backups).length > 0;
      while (!isUnderWay()) await sleep(1);
      killPostmaster(killed.server.dataDir);
      expect(await copying).toBe("failed");
      expect(readdirSync(killed.backups)).toEqual([]);
      const again = await startEmbeddedPostgres({ dataDir: join(killed.root, "data"), log });
      await killed.backUp();
      const scratchDir = join(killed.root, "scratch");
      const { checks } = await verifyBackup({ from: killed.backups, scratchDir, log });
      expect(checks.filter(({ ok }) => !ok)).toEqual([]);
      await again.stop();
    } finally {
      await killed.close();
    }
  },
);
