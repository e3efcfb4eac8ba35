import { spawn } from "node:child_process";

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
}

/** Runs a program whose messages go to standard error. Throws if it fails, unless `mayFail`. */
export async function runToEnd(
  command: string,
  args: readonly string[],
  options: { readonly env?: NodeJS.ProcessEnv; readonly mayFail?: boolean } = {},
): Promise<Ended> {
  const child = spawn(command, [...args], {
    env: { ...process.env, ...options.env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let stdout = "";
  child.stdout.on("data", (bytes: Buffer) => {
    stdout += bytes.toString();
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  if (code !== 0 && options.mayFail !== true) throw new Error(`${command} ended with ${code}`);
  return { code, stdout };
}
