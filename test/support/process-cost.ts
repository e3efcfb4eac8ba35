import { readdirSync, readFileSync } from "node:fs";

export function readCpuNs(processIds: readonly number[]): number {
  return processIds.reduce((sum, pid) => sum + readProcessCpuNs(pid), 0);
}

export function readResidentBytes(processIds: readonly number[]): number {
  return processIds.reduce((sum, pid) => sum + readOneResidentBytes(pid), 0);
}

export function descendantsOf(processId: number): readonly number[] {
  const all = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
  const parents = all.map((pid) => ({ pid, parent: Number(statFields(pid)?.[1]) }));
  const below = (of: number): readonly number[] =>
    parents.flatMap(({ pid, parent }) => (parent === of ? [pid, ...below(pid)] : []));
  return below(processId);
}

/** Returns false for a process that has ended, even if its parent has not collected it yet. */
export function isRunning(processId: number): boolean {
  const state = statFields(processId)?.[0];
  return state !== undefined && state !== "Z" && state !== "X";
}

// Prefers `schedstat`, which counts nanoseconds but may be missing; `stat` counts 10 ms ticks.
function readProcessCpuNs(processId: number): number {
  try {
    let sumNs = 0;
    for (const thread of readdirSync(`/proc/${processId}/task`)) {
      const text = readFileSync(`/proc/${processId}/task/${thread}/schedstat`, "latin1");
      sumNs += Number(text.slice(0, text.indexOf(" ")));
    }
    return sumNs;
  } catch {
    return readTicksNs(processId);
  }
}

function readTicksNs(processId: number): number {
  const fields = statFields(processId);
  const nsPerTick = 10_000_000;
  return (Number(fields?.[11] ?? 0) + Number(fields?.[12] ?? 0)) * nsPerTick;
}

function readOneResidentBytes(processId: number): number {
  const status = readFileSync(`/proc/${processId}/status`, "latin1");
  const kib = /^VmRSS:\s+(\d+) kB/m.exec(status)?.[1];
  if (kib === undefined) throw new Error(`process ${processId} has no resident memory figure`);
  return Number(kib) * 1_024;
}

/** Fields of `stat` after the process name: state, parent, and so on. A name may contain spaces. */
function statFields(processId: number): readonly string[] | undefined {
  try {
    const text = readFileSync(`/proc/${processId}/stat`, "latin1");
    return text.slice(text.lastIndexOf(")") + 2).split(" ");
  } catch {
    return undefined;
  }
}
