import { spawn } from "node:child_process";
import { once } from "node:events";
import { text as readText } from "node:stream/consumers";

/** Runs a program and returns its output. Throws if it fails, unless `mayFail`. */
export async function runToEnd(
  command: string,
  args: readonly string[],
  options: { readonly env?: NodeJS.ProcessEnv; readonly mayFail?: boolean } = {},
): Promise<string> {
  const child = spawn(command, [...args], {
    env: { ...process.env, ...options.env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const stdout = readText(child.stdout);
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0 && options.mayFail !== true) throw new Error(`${command} ended with ${code}`);
  return await stdout;
}
