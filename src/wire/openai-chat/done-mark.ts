const DONE = "[DONE]";

/** The end mark of the wire; blanks behind it do not matter. */
export function isDone(data: Buffer): boolean {
  if (data[0] !== DONE.charCodeAt(0) || data.length > 64) return false;
  return data.toString("latin1").trim() === DONE;
}
