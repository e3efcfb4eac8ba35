import { useState } from "react";

const NAME = "tm-development-line-hidden-until";
const DAY_MS = 86_400_000;

/** A line that the reader closed stays closed for a day, in this browser. */
export function useHiddenForADay(): readonly [isHidden: boolean, hide: () => void] {
  const [isHidden, setHidden] = useState(() => isHiddenAt(Date.now()));
  const hide = (): void => {
    setHidden(true);
    try {
      globalThis.localStorage.setItem(NAME, String(Date.now() + DAY_MS));
    } catch {
      // A browser that keeps nothing shows the line on the next load.
    }
  };
  return [isHidden, hide];
}

function isHiddenAt(nowMs: number): boolean {
  try {
    const untilMs = Number(globalThis.localStorage.getItem(NAME) ?? 0);
    // No further ahead than a day: a clock that was wrong does not hide it for a year.
    return untilMs > nowMs && untilMs <= nowMs + DAY_MS;
  } catch {
    return false;
  }
}
