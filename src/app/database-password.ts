import { type Config, type DatabaseAddress, Fault } from "../kernel/index.ts";
import { readSecretFile } from "./secret-files.ts";

export class PasswordFileFault extends Fault {}

/**
 * Returns a function that reads the password file and passes the password to `hide`, so that the
 * log does not show it; undefined if no file is set. Throws if the file cannot be used now.
 */
export function databasePassword(
  { databaseUrl, databasePasswordFile: file }: Pick<Config, "databaseUrl" | "databasePasswordFile">,
  hide: (secrets: readonly string[]) => void = () => undefined,
): (() => Promise<string>) | undefined {
  if (file === "") return undefined;
  if (databaseUrl === "") {
    throw new PasswordFileFault(
      "DATABASE_PASSWORD_FILE is set and DATABASE_URL is not; the embedded PostgreSQL has a password " +
        "of its own",
    );
  }
  if (hasPassword(databaseUrl)) {
    throw new PasswordFileFault(
      "DATABASE_URL has a password and DATABASE_PASSWORD_FILE is set; keep one of them",
    );
  }
  const read = (): string => {
    const secret = readSecretFile(file);
    if (!secret.ok)
      throw new PasswordFileFault(`DATABASE_PASSWORD_FILE: ${file} ${secret.problem}`);
    hide([secret.text]);
    return secret.text;
  };
  read();
  return () => Promise.resolve().then(read);
}

export function databaseAddress(
  url: string,
  password: (() => Promise<string>) | undefined,
): DatabaseAddress {
  return password === undefined || hasPassword(url) ? url : { url, password };
}

function hasPassword(url: string): boolean {
  if (/[?&]password=./.test(url)) return true;
  return /^[a-z]+:\/\/[^/@]*:[^/@]+@/.test(url);
}
