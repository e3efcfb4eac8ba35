import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { newFolder } from "../../../test/support/run-folder.ts";
import { findKeys, headsWithKey } from "./find-keys.ts";

const SECRET = "sk-provider-secret-2";
const folder = newFolder("keys");

let files = 0;

function keysFile(text: string, mode = 0o600): string {
  const file = join(folder, `${(files += 1)}.env`);
  writeFileSync(file, text, { mode });
  chmodSync(file, mode);
  return file;
}

describe("provider keys", () => {
  test("are found in the environment by the names that providers use", () => {
    const env = { OPENAI_API_KEY: SECRET, GROQ_API_KEY: "", HOME: "/root" };
    const { keys } = findKeys(env, undefined);
    expect([...keys]).toEqual([["OPENAI_API_KEY", SECRET]]);
    expect(headsWithKey(keys).map(({ provider }) => provider.id)).toEqual(["openai"]);
  });

  test("are used for every wire of their provider", () => {
    const { keys } = findKeys({ DEEPSEEK_API_KEY: SECRET }, undefined);
    const ids = headsWithKey(keys).map(({ provider }) => provider.id);
    expect(ids).toEqual(["deepseek", "deepseek-messages"]);
  });

  test("from a file, in every usual notation, take precedence over the environment", () => {
    const file = keysFile(
      `# of the team\n\nexport OPENAI_API_KEY="a b"\r\nGROQ_API_KEY='c=d'\nMISTRAL_API_KEY = e \nCOHERE_API_KEY=\n`,
    );
    const { keys, warnings } = findKeys({ OPENAI_API_KEY: "old", XAI_API_KEY: "x" }, file);
    expect(Object.fromEntries(keys)).toEqual({
      XAI_API_KEY: "x",
      OPENAI_API_KEY: "a b",
      GROQ_API_KEY: "c=d",
      MISTRAL_API_KEY: "e",
    });
    expect(warnings).toEqual([]);
  });

  test("a file sets no variable of this program", () => {
    const file = keysFile(`DATABASE_URL=postgres://elsewhere\nTM_DATA=/\nOPENAI_API_KEY=k\n`);
    expect([...findKeys({}, file).keys.keys()]).toEqual(["OPENAI_API_KEY"]);
  });

  test.each([0o640, 0o604])("a file with mode %o comes with a warning", (mode) => {
    const file = keysFile("OPENAI_API_KEY=k\n", mode);
    expect(findKeys({}, file).warnings).toEqual([
      `${file} can be read by other users of this machine: chmod 600 ${file}`,
    ]);
  });

  test.each([SECRET, `A KEY=${SECRET}`])(
    "an invalid line is reported by its number, without its text (case %#)",
    (line) => {
      const file = keysFile(`OPENAI_API_KEY=k\n${line}\n`);
      const read = (): unknown => findKeys({}, file);
      expect(read).toThrow(`${file}:2: must be NAME=value`);
      expect(read).not.toThrow(SECRET);
    },
  );

  test("a missing or too large file ends the command", () => {
    expect(() => findKeys({}, join(folder, "none"))).toThrow(/there is no such file/);
    const large = keysFile(`OPENAI_API_KEY=${"k".repeat(70_000)}`);
    expect(() => findKeys({}, large)).toThrow(/at most 64 KiB/);
  });
});
