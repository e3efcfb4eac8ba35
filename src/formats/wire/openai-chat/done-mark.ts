const DONE = "[DONE]";
const OPEN_OBJECT = 123;

/** The end mark of the wire; blanks around it do not matter. No JSON object begins with a bracket. */
export function isDone(data: Buffer): boolean {
  if (data[0] === OPEN_OBJECT || data.length > 64) return false;
  return data.toString("latin1").trim() === DONE;
}
