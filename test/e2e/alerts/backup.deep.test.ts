import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { readBackup, signBackup } from "../../../src/backup/backup-manifest.ts";
import { systemClock } from "../../../src/core/time.ts";
import { openSigningKey } from "../../../src/ledger/index.ts";
import { until } from "../../support/books.ts";
import { withSimulator } from "../../support/gateway.ts";
import { serve, withOperatorFolder } from "../../support/operator.ts";
import { runCommand } from "../../support/program.ts";
import { hasPrometheus, startPrometheus } from "../../support/prometheus.ts";
import { withResource } from "../../support/with-resource.ts";

const PATIENCE_MS = 120_000;
const COPY = 'tm_backup_last_success_timestamp_seconds{kind="base"} > 0';

/** The embedded PostgreSQL of a program as an operator starts it. */
describe.skipIf(!hasPrometheus)("the runbook of", () => {
  const folder = withOperatorFolder(withSimulator());
  const places = withResource(() => ({
    backups: join(folder.root, "backups"),
    away: join(folder.root, "not-mounted"),
  }));
  // Once a week, so that no copy comes by itself while the alert is waited for.
  const env = (): Readonly<Record<string, string>> => ({
    TM_BACKUP_FOLDER: places.backups,
    TM_BACKUP_EVERY_HOURS: "168",
  });
  const program = withResource(
    () => serve(folder, env()),
    (running) => running.end("SIGTERM"),
  );
  const prometheus = withResource(
    () =>
      startPrometheus([new URL(String(program.ready["internal_url"])).host], { areShort: true }),
    (server) => server.close(),
  );

  /** Refused while the program itself makes one. */
  async function madeByHand(): Promise<void> {
    const args = ["backup", "create", "--data", folder.dataDir];
    const isMade = async (): Promise<boolean> => (await runCommand(args, env())).code === 0;
    await until("a copy is made", isMade, PATIENCE_MS);
  }

  /** Sets every copy back by two days, signed again as the program signs it. */
  function ageCopies(): void {
    const key = openSigningKey(join(folder.dataDir, "retention-signing-key.pem"));
    const finishedAt = new Date(systemClock.nowMs() - 2 * 86_400_000).toISOString();
    const life = join(places.backups, readdirSync(places.backups)[0] ?? "");
    for (const name of readdirSync(life).filter((each) => each.startsWith("base-"))) {
      const file = join(life, name, "backup.json");
      const manifest = readBackup(readFileSync(file, "utf8"));
      if (typeof manifest === "string") throw new Error(manifest);
      writeFileSync(file, signBackup({ ...manifest, finishedAt }, key));
    }
  }

  test("TmBackupOld: a copy is made by hand, and proved", async () => {
    const hasCopy = async (): Promise<boolean> => (await prometheus.query(COPY)).length > 0;
    await until("the first copy is seen", hasCopy, PATIENCE_MS);
    ageCopies();
    await prometheus.untilAlert("TmBackupOld", "fires");
    await madeByHand();
    expect((await runCommand(["backup", "verify", "--data", folder.dataDir], env())).code).toBe(0);
    await prometheus.untilAlert("TmBackupOld", "is quiet");
    expect(await prometheus.firing()).not.toContain("TmBackupOld");
  });

  test("TmBackupOld: the backup folder is mounted again", async () => {
    renameSync(places.backups, places.away);
    mkdirSync(places.backups);
    await prometheus.untilAlert("TmBackupOld", "fires");
    expect(program.stderr()).toContain("the backup failed");
    renameSync(places.backups, join(folder.root, "mount-point"));
    renameSync(places.away, places.backups);
    await prometheus.untilAlert("TmBackupOld", "is quiet");
    await madeByHand();
  });
});
