import { execFileSync } from "node:child_process";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

/** A process of this machine that no later process is mistaken for: `<pid>-<start time>`. */
export type ProcessIdentity = string;

/** This process. */
export function ownIdentity(): ProcessIdentity {
  return identifyProcess(process.pid);
}

export function identifyProcess(pid: number): ProcessIdentity {
  return `${pid}-${readStartTime(pid) ?? "0"}`;
}

/** True if the process is still running on this machine. */
export function isAlive(identity: ProcessIdentity): boolean {
  const [pidText = "", started] = identity.split("-");
  const pid = Number(pidText);
  if (!Number.isInteger(pid) || pid <= 0 || started === undefined) return false;
  return readStartTime(pid) === started;
}

/** True if any user runs a process with this number. */
export function isPidAlive(pid: number): boolean {
  return readStartTime(pid) !== undefined;
}

/**
 * The folder a process works in, where the system shows it; a PostgreSQL server works in its data.
 */
export function findWorkingFolder(pid: number): string | undefined {
  return linkTarget(`/proc/${pid}/cwd`);
}

/** The machine, its current boot and its space of process numbers: where such a number counts. */
export function hostIdentity(): string {
  const boot = readOptional("/proc/sys/kernel/random/boot_id")?.trim() ?? "";
  return `${hostname()} ${boot} ${linkTarget("/proc/self/ns/pid") ?? ""}`.trim();
}

/** Undefined when there is no such process, or one that ended and was not yet collected. */
function readStartTime(pid: number): string | undefined {
  if (process.platform === "linux") {
    const stat = readOptional(`/proc/${pid}/stat`) ?? "";
    // The name in parentheses may hold spaces; the state and the start time stand behind it.
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

function readOptional(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
