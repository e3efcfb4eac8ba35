import { execFileSync, spawnSync } from "node:child_process";
import { statSync } from "node:fs";
import { embeddedEnvironment } from "./embedded-environment.ts";

/** Whom the embedded PostgreSQL runs as: it refuses to run as root. */
export interface SystemUser {
  readonly uid: number;
  readonly gid: number;
}

const USER_NAMES = ["postgres", "tokenmarket"];
const FALLBACK_NAME = "nobody";

/**
 * Undefined when this process is not root: PostgreSQL then runs as the same user. An existing data
 * folder keeps the user that owns it.
 */
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

/** Can `user` enter this folder, with every folder above it? */
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
