import { readFigures } from "../../backup/index.ts";
import { clock } from "../command-context.ts";
import type { DatabaseCheckGroup, DoctorCheck } from "./doctor-check.ts";

/** A copy that is late by more than this did not come by itself. */
const LATE_HOURS = 2;
const UNARCHIVED_MAX_S = 600;
const ID = "backups";
const PAGE = "see docs/operating/backups.md";

/** Whether there are backups, and how old the newest are. */
export const backupChecks: DatabaseCheckGroup = async ({ config }, backend) => {
  const { embedded } = backend;
  if (embedded === undefined) return [archivingCheck(await backend.walUnarchivedS())];
  if (embedded.archive === undefined) {
    return [warning(`nothing is backed up: set backup.folder (TM_BACKUP_FOLDER); ${PAGE}`)];
  }
  const { lastBaseS = 0, walUnarchivedS = 0 } = await readFigures(embedded);
  const { folder } = embedded.archive;
  if (lastBaseS === 0) {
    return [warning(`there is no copy in ${folder} yet: run \`tokenmarket backup create\``)];
  }
  const hours = Math.floor((clock.nowMs() / 1000 - lastBaseS) / 3600);
  if (hours >= config.backupEveryHours + LATE_HOURS) {
    return [warning(`the newest copy is ${hours} hours old: run \`tokenmarket backup create\``)];
  }
  if (walUnarchivedS > UNARCHIVED_MAX_S) return [archivingCheck(walUnarchivedS)];
  return [{ id: ID, level: "ok", detail: `the newest copy is ${hours} hours old, in ${folder}` }];
};

function archivingCheck(unarchivedS: number | undefined): DoctorCheck {
  if (unarchivedS === undefined) {
    return warning(`PostgreSQL archives nothing; unless its provider backs it up, ${PAGE}`);
  }
  const age = Math.round(unarchivedS);
  if (unarchivedS > UNARCHIVED_MAX_S) {
    return warning(`PostgreSQL archived its log ${age} seconds ago for the last time; ${PAGE}`);
  }
  return { id: ID, level: "ok", detail: `PostgreSQL archived its log ${age} seconds ago` };
}

function warning(detail: string): DoctorCheck {
  return { id: ID, level: "warning", detail };
}
