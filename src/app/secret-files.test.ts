import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { newFolder } from "../../test/support/run-folder.ts";
import { loadConfig, secretsIn } from "../kernel/index.ts";
import { SECRET_FILE_BYTES_MAX, SecretFiles } from "./secret-files.ts";

const folder = newFolder("secrets");

let files = 0;

function fileOf(content: string | Buffer): string {
  const file = join(folder, `secret-${(files += 1)}`);
  writeFileSync(file, content);
  return file;
}

const MUST_BE_A_LINE = "must have one line, without control characters";

describe("a secret in a file", () => {
  test.each([
    ["with a newline at its end", "sk-a b\n", "sk-a b"],
    ["with a Windows line break at its end", "sk-ab\r\n", "sk-ab"],
    ["with a byte order mark, as some editors write it", "\uFEFFsk-ab\n", /^sk-ab$/],
    ["of the largest size", `${"k".repeat(SECRET_FILE_BYTES_MAX - 1)}\n`, /^k{65535}$/],
  ])("is read from a file %s", (_what, content, text) => {
    const { env, problems } = new SecretFiles({ ACME_KEY_FILE: fileOf(content) });
    expect(env["ACME_KEY"]).toMatch(text);
    expect(problems.size).toBe(0);
  });

  test("may be a symbolic link, as Kubernetes mounts it", () => {
    const link = join(folder, "link");
    symlinkSync(fileOf("sk-linked"), link);
    expect(new SecretFiles({ ACME_KEY_FILE: link }).env["ACME_KEY"]).toBe("sk-linked");
  });

  test.each([
    ["missing", () => join(folder, "none"), "cannot be read (ENOENT)"],
    ["a device that never ends", () => "/dev/zero", "is not a file"],
    ["empty", () => fileOf("\n"), "is empty"],
    ["too large", () => fileOf("k".repeat(65_537)), "is larger than 65536 bytes"],
    ["of several lines", () => fileOf("hush-1\nhush-2\n"), MUST_BE_A_LINE],
    ["not a text", () => fileOf(Buffer.from([0xff, 0xfe, 0x41])), "is not a text in UTF-8"],
  ])("that is %s has no value, and its variable is named", (_what, make, problem) => {
    const file = make();
    const secrets = new SecretFiles({ ACME_KEY_FILE: file });
    expect(secrets.env["ACME_KEY"]).toBeUndefined();
    expect(secrets.problems.get("ACME_KEY")).toBe(`ACME_KEY_FILE: ${file} ${problem}`);
  });

  test("is read again after a command added values, and an added value replaces its file", () => {
    const [acme, other] = [fileOf("sk-first"), fileOf("sk-other")];
    const given = { ACME_KEY_FILE: acme, OTHER_KEY_FILE: other, PATH: "/bin" };
    const added = { ADDED_KEY: "sk-added", OTHER_KEY: "sk-replaced" };
    const secrets = new SecretFiles(given).withValues(new Map(Object.entries(added)));
    expect(secrets.problems.size).toBe(0);
    writeFileSync(acme, "sk-rotated");
    const reading = secrets.read();
    const env = { ...added, PATH: "/bin", ACME_KEY: "sk-rotated" };
    expect(reading).toMatchObject({ changed: ["ACME_KEY"], env });
    secrets.use(reading);
    expect(secrets.env).toMatchObject(env);
  });

  test("beside its variable is refused: it is not clear which one is meant", () => {
    const given = { ACME_KEY: "sk-one", ACME_KEY_FILE: fileOf("sk-two") };
    const message = "ACME_KEY and ACME_KEY_FILE are both set; keep one of them";
    expect(new SecretFiles(given).problems.get("ACME_KEY")).toBe(message);
    expect(new SecretFiles({ ...given, ACME_KEY: "" }).env["ACME_KEY"]).toBe("sk-two");
  });

  test("is hidden from log lines like a secret of the environment", () => {
    const { env } = new SecretFiles({
      ACME_KEY_FILE: fileOf("sk-file"),
      REDIS_URL_FILE: fileOf("redis://:hush@host"),
      RELEASE_FILE: fileOf("20261123"),
    });
    expect(secretsIn(env)).toEqual(["sk-file", "redis://:hush@host"]);
  });
});

test("a changed secret file is read again, and takes effect only when that reading is used", () => {
  const [file, other] = [fileOf("sk-first-1"), fileOf("sk-other-1")];
  const secrets = new SecretFiles({ ACME_KEY_FILE: file, OTHER_KEY_FILE: other });
  writeFileSync(file, "sk-second\n");
  const reading = secrets.read();
  expect(reading.changed).toEqual(["ACME_KEY"]);
  expect([reading.env["ACME_KEY"], secrets.env["ACME_KEY"]]).toEqual(["sk-second", "sk-first-1"]);
  secrets.use(reading);
  expect([secrets.env["ACME_KEY"], secrets.env["OTHER_KEY"]]).toEqual(["sk-second", "sk-other-1"]);
  expect(secrets.read().changed).toEqual([]);
});

test("a newline at the end of a variable is no part of its secret, as in a file", () => {
  const given = { ACME_KEY: "sk-one\n", STRIPE_SECRET_KEY: "sk_two\r\n", TM_PORT: "1\n" };
  const secrets = new SecretFiles(given);
  const env = { ...given, ACME_KEY: "sk-one", STRIPE_SECRET_KEY: "sk_two" };
  expect(secrets.env).toEqual(env);
  expect(secrets.read().env).toEqual(env);
});

describe("a setting", () => {
  test("that is secret is read from its file under each of its names", () => {
    for (const name of ["DATABASE_URL", "TM_DATABASE_URL"]) {
      const { env, problems } = new SecretFiles({ [`${name}_FILE`]: fileOf("postgres://db/x\n") });
      const outcome = loadConfig({ flags: {}, env, fileProblems: problems });
      expect(outcome).toMatchObject({ config: { databaseUrl: "postgres://db/x" } });
    }
  });

  test("that cannot be read from its file is a problem of the configuration", () => {
    const file = join(folder, "none");
    const { env, problems } = new SecretFiles({ TM_ENCRYPTION_KEY_FILE: file });
    expect(loadConfig({ flags: {}, env, fileProblems: problems })).toEqual({
      kind: "invalid",
      problems: [`TM_ENCRYPTION_KEY_FILE: ${file} cannot be read (ENOENT)`],
    });
  });

  test("that is not secret, or that itself names a file, is never read from a file", () => {
    const file = fileOf("9999");
    const given = { TM_PORT_FILE: file, TM_POOLS_FILE: file, DATABASE_PASSWORD_FILE: file };
    expect(new SecretFiles(given).paths).toEqual([]);
  });
});
