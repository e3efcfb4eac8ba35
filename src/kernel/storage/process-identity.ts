import { execFileSync } from "node:child_process";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

export function ownIdentity(): string {
  return identifyProcess(process.pid);
}

/** Returns `<pid>-<start time>`. Unlike a bare pid, it names no later process of this boot. */
export function identifyProcess(pid: number): string {
  return `${pid}-${readStartTime(pid) ?? "0"}`;
}

export function isAlive(identity: string): boolean {
  const [pidText = "", started] = identity.split("-");
  const pid = Number(pidText);
  if (!Number.isInteger(pid) || pid <= 0 || started === undefined) return false;
  return readStartTime(pid) === started;
}

export function isPidAlive(pid: number): boolean {
  return readStartTime(pid) !== undefined;
}

/** Returns the working folder of a process; undefined if the system does not show it. */
export function findWorkingFolder(pid: number): string | undefined {
  return linkTarget(`/proc/${pid}/cwd`);
}

/** Identifies the machine, its boot and its process namespace: within these, a pid is unique. */
export function hostIdentity(): string {
  const boot = readOptional("/proc/sys/kernel/random/boot_id")?.trim() ?? "";
  return `${hostname()} ${boot} ${linkTarget("/proc/self/ns/pid") ?? ""}`.trim();
}

/** Returns when a process started, as the system writes it; undefined if it is gone or a zombie. */
function readStartTime(pid: number): string | undefined {
  if (process.platform === "linux") {
    const stat = readOptional(`/proc/${pid}/stat`) ?? "";
    // The name in parentheses may contain spaces; state and start time come after it.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" || fields[0] === "X" ? undefined : fields[19];
  }
  try {
    const text = execFileSync("ps", ["-o", "lstart=", "-p", String(pid)], { encoding: "utf8" });
    return String(Math.trunc(Date.parse(text.trim()) / 1000));
  } catch {
    return undefined;
  }
}

function linkTarget(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}

export function readOptional(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
