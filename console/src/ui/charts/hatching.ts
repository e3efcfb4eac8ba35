import { useSyncExternalStore } from "react";

const NAME = "tm-hatching";
const listeners = new Set<() => void>();

/** True if the person has chosen patterns besides colours for charts in this browser. */
export function useHatching(): boolean {
  return useSyncExternalStore(listen, isOn);
}

export function setHatching(isWanted: boolean): void {
  try {
    if (isWanted) globalThis.localStorage.setItem(NAME, "on");
    else globalThis.localStorage.removeItem(NAME);
  } catch {
    // A browser that keeps nothing draws plain charts.
  }
  for (const tell of listeners) tell();
}

function listen(tell: () => void): () => void {
  listeners.add(tell);
  return () => listeners.delete(tell);
}

function isOn(): boolean {
  try {
    return globalThis.localStorage.getItem(NAME) === "on";
  } catch {
    return false;
  }
}
