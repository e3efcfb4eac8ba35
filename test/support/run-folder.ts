import { accessSync, chmodSync, constants, mkdtempSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const MEMORY_FILES = "/dev/shm";
/** Several times what a run has needed; a container often has only 64 MiB. */
const ENOUGH_BYTES = 4 * 1024 ** 3;

/**
 * Makes a folder for everything that this run writes and deletes at its end, and makes it the
 * temporary folder of this process and of all that it starts. It is in memory if there is enough
 * space: on a disk, hundreds of databases of a thousand files each take half of the run's processor
 * time. Tests kill processes, never the machine, so nothing is lost. `TMPDIR` names another place.
 */
export function newRunFolder(): string {
  const isChosen = process.env["TMPDIR"] !== undefined;
  const place = !isChosen && hasRoom(MEMORY_FILES) ? MEMORY_FILES : tmpdir();
  const folder = openFolder(join(place, "tokenmarket-run-"));
  process.env["TMPDIR"] = folder;
  return folder;
}

/** Creates a folder for the files of a test, which the end of the run deletes. */
export function newFolder(name: string): string {
  return openFolder(join(tmpdir(), `tokenmarket-${name}-`));
}

/** If this runs as root, databases run as another user, who must be able to enter the folder. */
function openFolder(prefix: string): string {
  const folder = mkdtempSync(prefix);
  chmodSync(folder, 0o755);
  return folder;
}

function hasRoom(place: string): boolean {
  try {
    accessSync(place, constants.W_OK);
    const { bavail, bsize } = statfsSync(place);
    return bavail * bsize >= ENOUGH_BYTES;
  } catch {
    return false;
  }
}
