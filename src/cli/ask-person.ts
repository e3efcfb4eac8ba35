import { createInterface, type Interface } from "node:readline";

import { type CommandIo, type Flags, readText, UsageFault } from "./command-context.ts";

/** A value that comes from a flag, or that a person at a terminal types. */
export interface Needed<T> {
  /** How a message about missing flags names the flag: `--deployments NAME=MODEL`. */
  readonly flag: string;
  readonly question: string;
  /** Used for an empty line, or instead of a missing flag if no terminal can ask for the value. */
  readonly fallback?: string;
  readonly read: (text: string) => T;
}

/** After this many invalid answers to one question, the command ends. */
const TRIES_MAX = 3;

/** Gets each answer from its flag, a person or its fallback. `needAll` reports missing flags. */
export class Answers {
  readonly #terminal: Interface | undefined;
  /** The person's lines, also those typed before the command asks the question they answer. */
  readonly #lines: AsyncIterator<string> | undefined;
  readonly #write: (text: string) => void;
  readonly #missing: string[] = [];

  constructor({ stdin, stderr }: Pick<CommandIo, "stdin" | "stderr">, isAsking: boolean) {
    this.#write = (text) => void stderr.write(text);
    if (!isAsking || stderr.isTTY !== true) return;
    const input = stdin();
    if (input.isTTY !== true) return;
    // The terminal itself edits the line, because this program never puts it into raw mode.
    const readable = input as unknown as NodeJS.ReadableStream;
    this.#terminal = createInterface({ input: readable, terminal: false });
    this.#lines = this.#terminal[Symbol.asyncIterator]();
  }

  get isPerson(): boolean {
    return this.#terminal !== undefined;
  }

  tell(text: string): void {
    if (this.isPerson) this.#write(`${text}\n`);
  }

  /** Undefined without flag, terminal and fallback: `needAll` then reports the missing flag. */
  async get<T>(given: string | undefined, needed: Needed<T>): Promise<T | undefined> {
    const { flag, fallback, question, read } = needed;
    if (given !== undefined) return read(given);
    if (!this.isPerson) {
      if (fallback !== undefined) return read(fallback);
      this.#missing.push(flag);
      return undefined;
    }
    for (let tries = 1; ; tries += 1) {
      const hint = fallback === undefined || fallback === "" ? "" : ` [${fallback}]`;
      const answer = (await this.#line(`${question}${hint}: `)).trim();
      try {
        return read(answer === "" ? (fallback ?? "") : answer);
      } catch (fault) {
        if (!(fault instanceof UsageFault) || tries === TRIES_MAX) throw fault;
        this.#write(`${fault.message}\n`);
      }
    }
  }

  /** Gets the answer of the flag `--<name>`. `read` gets the flag's name for its messages, too. */
  async flag<T>(
    flags: Flags,
    name: string,
    needed: Omit<Needed<T>, "flag" | "read"> & { readonly read: (text: string, flag: string) => T },
  ): Promise<T | undefined> {
    const flag = `--${name}`;
    const read = (text: string): T => needed.read(text, flag);
    return await this.get(readText(flags, name), { ...needed, flag, read });
  }

  /** Asks a yes-or-no question. Without a terminal, the answer is no. */
  async confirm(question: string): Promise<boolean> {
    if (!this.isPerson) return false;
    const answer = await this.#line(`${question} [y/N]: `);
    return /^y(es)?$/i.test(answer.trim());
  }

  /** Throws a `UsageFault` that names all flags that were missing so far, if there are any. */
  needAll(command: string): void {
    if (this.#missing.length === 0) return;
    throw new UsageFault(
      `${command}: there is no terminal to ask at; give ${this.#missing.join(", ")}`,
    );
  }

  close(): void {
    this.#terminal?.close();
  }

  /** Reads one line; rejects if the terminal is closed, so that no question waits forever. */
  async #line(prompt: string): Promise<string> {
    this.#write(prompt);
    const line = await this.#lines?.next();
    if (line?.done === false) return line.value;
    throw new UsageFault("the terminal was closed before the last answer");
  }
}
