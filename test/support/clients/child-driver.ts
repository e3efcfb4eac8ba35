import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { createInterface } from "node:readline";
import { withResource } from "../with-resource.ts";
import type { Driver, Outcome } from "./driver.ts";

interface Command {
  readonly file: string;
  readonly args: readonly string[];
}

interface Waiting {
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: Error) => void;
}

/** Starts a process that runs clients, before the tests of the calling file; ends it after them. */
export function withClientProcess(prepare: () => Promise<Command>): Clients {
  return withResource(async () => new Clients(await prepare()));
}

class Clients {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #waiting = new Map<number, Waiting>();
  #orders = 0;
  #stderr = "";

  constructor({ file, args }: Command) {
    this.#child = spawn(file, args, { stdio: "pipe", env: { PATH: process.env["PATH"] } });
    this.#child.stderr.on("data", (chunk: Buffer) => (this.#stderr += chunk.toString()));
    createInterface({ input: this.#child.stdout }).on("line", (line) => {
      const { id, outcome } = JSON.parse(line) as { id: number; outcome: Outcome };
      this.#waiting.get(id)?.resolve(outcome);
      this.#waiting.delete(id);
    });
    this.#child.once("close", (code) => {
      const error = new Error(`the process of the clients ended with ${code}: ${this.#stderr}`);
      for (const waiting of this.#waiting.values()) waiting.reject(error);
    });
  }

  driver(client: string): Driver {
    return async (deed, target) => {
      const id = (this.#orders += 1);
      return await new Promise<Outcome>((resolve, reject) => {
        this.#waiting.set(id, { resolve, reject });
        this.#child.stdin.write(`${JSON.stringify({ id, client, deed, target })}\n`);
      });
    };
  }

  close(): void {
    this.#child.stdin.end();
    this.#child.kill();
  }
}
