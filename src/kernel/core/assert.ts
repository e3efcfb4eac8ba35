/** Thrown when an invariant of the program is broken. Never caused by a customer's input. */
export class AssertionFault extends Error {
  override readonly name = "AssertionFault";
}

/** Throws `AssertionFault` if `condition` is false. `message` states the invariant. */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new AssertionFault(message);
}

/** For the default branch of an exhaustive switch: a new member of the union breaks the build there. */
export function unreachable(value: never): never {
  throw new AssertionFault(`unreachable value: ${String(value)}`);
}
