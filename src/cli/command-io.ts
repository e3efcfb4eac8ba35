import type { SecretFiles, TextOutput } from "../app/index.ts";

/**
 * 0: done; 1: the answer is no; 2: a wrong call, a fault, or no clear answer; 3: what was to be
 * checked is not valid.
 */
export type ExitCode = 0 | 1 | 2 | 3;

export type StandardInput = AsyncIterable<unknown> & { readonly isTTY?: boolean };

/**
 * The streams and values that the command line gets from the process around it. Commands read no
 * environment and write to no stream but these, so that a caller in the same process can run them
 * like a function.
 */
export interface CommandIo {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Opens standard input. Only commands that read it call this, as it can keep a process alive. */
  readonly stdin: () => StandardInput;
  readonly stdout: NodeJS.WritableStream;
  /** Messages and logs. */
  /** `isTTY`: a person reads it while it is written. */
  readonly stderr: TextOutput & { readonly isTTY?: boolean | undefined };
  /** Ends the process although something is still open. Only servers call it. */
  readonly exit: (code: ExitCode) => void;
}

/** One run of the command line, with its environment and its exit code. */
export interface CommandContext extends CommandIo {
  /** The secrets in `env` that come from files. */
  readonly secrets: SecretFiles;
  /** Sets the exit code of this run, which is 0 by default. */
  readonly setExitCode: (code: ExitCode) => void;
}

/** Ends the run of a server, although its sockets and timers are still open. */
export function endServer(context: CommandContext, code: ExitCode): void {
  context.setExitCode(code);
  context.exit(code);
}
