/** Thrown when a promise the program makes to itself is broken. Never a customer's fault. */
export class AssertionFault extends Error {
  override readonly name = "AssertionFault";
}

/** Stops the current work when `condition` is false; the message names the broken promise. */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new AssertionFault(message);
}

/** The default branch of an exhaustive switch: a new member of the union breaks the build here. */
export function unreachable(value: never): never {
  throw new AssertionFault(`unreachable value: ${String(value)}`);
}
