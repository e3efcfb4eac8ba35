import { useRef } from "react";

/** The newest value there was: a dialog that fades out still says what it was about. */
export function useLast<T>(value: T | undefined): T | undefined {
  const last = useRef(value);
  if (value !== undefined) last.current = value;
  return last.current;
}
