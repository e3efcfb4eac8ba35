import { userInfo } from "node:os";

import { byOperator, type ChangedBy } from "../kernel/index.ts";

const NAME_CHARS_MAX = 64;
const NAME = /^[\p{L}\p{N}][\p{L}\p{N} ._@-]*$/u;

/** `problem`: what is wrong with `--by`. */
type ReadChangedBy =
  | { readonly kind: "known"; readonly by: ChangedBy }
  | { readonly kind: "wrong"; readonly problem: string };

/**
 * Who runs a command, for the change log: the user of the machine, with the name that `--by` gives
 * where several people share that user.
 */
export function readChangedBy(named: string | undefined): ReadChangedBy {
  const user = userOfMachine();
  if (named === undefined) return { kind: "known", by: byOperator(user) };
  if (NAME.test(named) && named.length <= NAME_CHARS_MAX) {
    return { kind: "known", by: byOperator(`${named} (${user})`) };
  }
  const problem = `--by must be a name of at most ${NAME_CHARS_MAX} letters, digits, spaces and . _ @ -`;
  return { kind: "wrong", problem };
}

/** A user id that has no name, as in a container, is its number. */
function userOfMachine(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? "unknown"}`;
  }
}
