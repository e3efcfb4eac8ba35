import { accessSync, chmodSync, constants, mkdtempSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Files that live in memory, where Linux has them. */
const MEMORY_FILES = "/dev/shm";
/** Several times what a run has needed at once; a container often gives 64 MiB. */
const ENOUGH_BYTES = 4 * 1024 ** 3;

/**
 * A folder for everything that this run writes and throws away at its end. It becomes the temporary
 * folder of this process and of all that it starts. It is in memory if there is space: on a disk,
 * some hundred databases of a thousand files each take half of the run's processor time. Tests end
 * processes, never the machine, so nothing is lost. `TMPDIR` names another place.
 */
export function newRunFolder(): string {
  const isChosen = process.env["TMPDIR"] !== undefined;
  const place = !isChosen && hasRoom(MEMORY_FILES) ? MEMORY_FILES : tmpdir();
  const folder = mkdtempSync(join(place, "tokenmarket-run-"));
  // Root starts the databases as another user, who needs access to the folder.
  chmodSync(folder, 0o755);
  process.env["TMPDIR"] = folder;
  return folder;
}

/** A new folder for the files of a test; the end of the run removes it. */
export function newFolder(name: string): string {
  return mkdtempSync(join(tmpdir(), `tokenmarket-${name}-`));
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
