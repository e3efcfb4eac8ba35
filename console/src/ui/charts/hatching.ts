import { useSyncExternalStore } from "react";

import { recall, remember } from "../browser-memory.ts";

const NAME = "tm-hatching";
const listeners = new Set<() => void>();

/** True if, in this browser, the reader has chosen patterns in addition to the colors of charts. */
export function useHatching(): boolean {
  return useSyncExternalStore(listen, isOn);
}

export function setHatching(isWanted: boolean): void {
  remember("localStorage", NAME, isWanted ? "on" : undefined);
  for (const tell of listeners) tell();
}

function listen(tell: () => void): () => void {
  listeners.add(tell);
  return () => listeners.delete(tell);
}

function isOn(): boolean {
  return recall("localStorage", NAME) === "on";
}
