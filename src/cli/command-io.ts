import type { SecretFiles, TextOutput } from "../app/index.ts";

/**
 * 0: done. 1: a check failed, part of the work was not done, or the command may succeed later. 2: a
 * wrong call, a fault, or no clear answer. 3: the checked file is not valid.
 */
export type ExitCode = 0 | 1 | 2 | 3;

export type StandardInput = AsyncIterable<unknown> & { readonly isTTY?: boolean };

/**
 * The streams and values that the command line gets from its process. Commands read no other
 * environment and write to no other stream, so that a caller in the same process can run them like
 * a function.
 */
export interface CommandIo {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Opens standard input. Only its readers call this: an open input can keep a process alive. */
  readonly stdin: () => StandardInput;
  readonly stdout: NodeJS.WritableStream;
  /** Gets messages and logs. `isTTY`: a person reads the output while it is written. */
  readonly stderr: TextOutput & { readonly isTTY?: boolean | undefined };
  /** Ends the process although something is still open. Only servers call this. */
  readonly exit: (code: ExitCode) => void;
}

export interface CommandContext extends CommandIo {
  /** The secrets in `env` that were read from files. */
  readonly secrets: SecretFiles;
  readonly setExitCode: (code: ExitCode) => void;
}

/** Ends a server's run, although its sockets and timers are still open. */
export function endServer(context: CommandContext, code: ExitCode): void {
  context.setExitCode(code);
  context.exit(code);
}
