import { createHash, randomBytes } from "node:crypto";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import type { ServerAddress } from "./embedded-database.ts";
import { canEnter, chooseSystemUser, type SystemUser } from "./embedded-binaries.ts";
import { isAlive, ownIdentity } from "./process-identity.ts";

/** The folder of one embedded PostgreSQL. PostgreSQL owns `cluster/`, this program all the rest. */
export interface EmbeddedHome {
  /** In the data folder, or if PostgreSQL's user cannot enter the data folder, in `SYSTEM_ROOT`. */
  readonly folder: string;
  /** PostgreSQL's data folder with resolved links, as systems show a process's working folder. */
  readonly cluster: string;
  readonly user: SystemUser | undefined;
  readonly binariesRoot: string;
}

const SYSTEM_ROOT = "/var/lib/tokenmarket";

/**
 * Opens the home in the requested data folder. If this process is root, PostgreSQL runs as another
 * user; if that user cannot enter the requested folder, a folder in `SYSTEM_ROOT` is used instead.
 */
export function openEmbeddedHome(dataDir: string): EmbeddedHome {
  mkdirSync(dataDir, { recursive: true });
  const requested = join(realpathSync(resolve(dataDir)), "postgres");
  const system = join(SYSTEM_ROOT, hashPath(requested));
  const isRoot = process.getuid?.() === 0;
  // A database in the system folder must not be replaced by a new, empty one.
  if (isRoot && hasCluster(system)) return prepare(system, true);
  const home = prepare(requested, isRoot);
  if (home.user === undefined || canEnter(home.user, home.folder)) return home;
  if (hasCluster(requested)) {
    throw new Error(
      `the database in ${requested} belongs to a user that can no longer enter that folder; ` +
        "give the folders above it the right to be entered (chmod a+x)",
    );
  }
  rmSync(requested, { recursive: true, force: true });
  return prepare(system, true);
}

/** Creates the passwords at the first call, in files that only the program's user can read. */
export function readOrMakePasswords(
  home: EmbeddedHome,
): Pick<ServerAddress, "adminPassword" | "programPassword"> {
  return {
    adminPassword: readOrMakePassword(home, "password"),
    programPassword: readOrMakePassword(home, "program-password"),
  };
}

function readOrMakePassword(home: EmbeddedHome, file: string): string {
  const path = join(home.folder, file);
  if (!existsSync(path)) writeFileSync(path, randomBytes(24).toString("hex"), { mode: 0o600 });
  return readFileSync(path, "utf8").trim();
}

/** Notes in a file that this process uses the server. Returns the file's name, for `removeUser`. */
export function addUser(home: EmbeddedHome): string {
  const name = `${ownIdentity()}-${randomBytes(4).toString("hex")}`;
  writeFileSync(join(home.folder, "users", name), "");
  return name;
}

/** Ends a use that `addUser` noted. Returns true if no living process uses the server any more. */
export function removeUser(home: EmbeddedHome, name: string): boolean {
  rmSync(join(home.folder, "users", name), { force: true });
  return !hasLivingUsers(home);
}

/** Returns true if a living process uses the server. Removes the files that dead processes left. */
export function hasLivingUsers(home: EmbeddedHome): boolean {
  const folder = join(home.folder, "users");
  let living = 0;
  for (const name of readdirSync(folder)) {
    if (isAlive(name.slice(0, name.lastIndexOf("-")))) living += 1;
    else rmSync(join(folder, name), { force: true });
  }
  return living > 0;
}

export function hasEmbeddedDatabase(dataDir: string): boolean {
  if (!existsSync(dataDir)) return false;
  const requested = join(realpathSync(resolve(dataDir)), "postgres");
  return hasCluster(requested) || hasCluster(join(SYSTEM_ROOT, hashPath(requested)));
}

/**
 * Returns a problem if the data folder is PostgreSQL's own folder or inside it, where a new
 * database would damage or shadow the existing one; otherwise undefined.
 */
export function dataFolderProblem(dataDir: string): string | undefined {
  const asked = resolve(dataDir);
  for (let folder = resolveRealPath(asked); ; folder = dirname(folder)) {
    const isHome = hasCluster(folder) && existsSync(join(folder, "users"));
    if (isHome || existsSync(join(folder, "PG_VERSION"))) {
      const home = isHome ? folder : dirname(folder);
      const hint =
        hasCluster(home) && basename(home) === "postgres"
          ? `; the folder that --data takes is ${dirname(home)}`
          : "; give --data the folder that the server was started with";
      const where = folder === resolveRealPath(asked) ? "is" : "is inside";
      return `${asked} ${where} the own folder of a PostgreSQL${hint}`;
    }
    if (folder === dirname(folder)) return undefined;
  }
}

/** Resolves links, even if the last folders of the path do not exist yet. */
function resolveRealPath(path: string): string {
  if (existsSync(path)) return realpathSync(path);
  return path === dirname(path) ? path : join(resolveRealPath(dirname(path)), basename(path));
}

export function hasCluster(folder: string): boolean {
  return existsSync(join(folder, "cluster", "PG_VERSION"));
}

function prepare(folder: string, isRoot: boolean): EmbeddedHome {
  const cluster = join(folder, "cluster");
  mkdirSync(join(folder, "users"), { recursive: true, mode: 0o755 });
  const user = isRoot ? chooseSystemUser(hasCluster(folder) ? cluster : undefined) : undefined;
  // PostgreSQL's user must be able to enter the folder, whatever the umask of this process is.
  if (user !== undefined) chmodSync(folder, 0o755);
  if (folder.startsWith(`${SYSTEM_ROOT}/`)) chmodSync(SYSTEM_ROOT, 0o755);
  mkdirSync(cluster, { recursive: true, mode: 0o700 });
  if (user !== undefined) chownSync(cluster, user.uid, user.gid);
  const binariesRoot = user === undefined ? folder : SYSTEM_ROOT;
  return { folder, cluster: realpathSync(cluster), user, binariesRoot };
}

function hashPath(path: string): string {
  return createHash("sha256").update(path).digest("hex").slice(0, 16);
}
