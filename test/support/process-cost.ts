import { readdirSync, readFileSync } from "node:fs";

/** Returns the processor time that all threads of these processes have used, in nanoseconds. */
export function readCpuNs(processIds: readonly number[]): number {
  return processIds.reduce((sum, pid) => sum + readProcessCpuNs(pid), 0);
}

export function readResidentBytes(processIds: readonly number[]): number {
  return processIds.reduce((sum, pid) => sum + readOneResidentBytes(pid), 0);
}

/** Returns all processes below this one, at any depth. */
export function descendantsOf(processId: number): readonly number[] {
  const childrenOf = new Map<number, number[]>();
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const parent = parentOf(Number(name));
    if (parent === undefined) continue;
    childrenOf.set(parent, [...(childrenOf.get(parent) ?? []), Number(name)]);
  }
  const found: number[] = [];
  const open = [processId];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const children = childrenOf.get(next) ?? [];
    found.push(...children);
    open.push(...children);
  }
  return found;
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

function parentOf(processId: number): number | undefined {
  const field = statFields(processId)?.[1];
  return field === undefined ? undefined : Number(field);
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
