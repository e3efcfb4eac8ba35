import { Fault } from "./fault.ts";

/** Thrown when an invariant of the program is broken, never because of a customer's input. */
export class AssertionFault extends Fault {}

export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new AssertionFault(message);
}

/** Call it in an exhaustive switch: a new member of the union then fails to compile. */
export function unreachable(value: never): never {
  throw new AssertionFault(`unreachable value: ${String(value)}`);
}
