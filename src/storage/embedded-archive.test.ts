import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, expect, test } from "vitest";

import { silentLog } from "../../test/support/silent-log.ts";
import { chooseArchive, readArchive } from "./embedded-archive.ts";
import type { EmbeddedHome } from "./embedded-home.ts";

const root = mkdtempSync(join(tmpdir(), "tokenmarket-archive-"));
afterAll(() => rmSync(root, { recursive: true }));

const home: EmbeddedHome = { folder: root, cluster: root, user: undefined, binariesRoot: root };
const note = join(root, "archive.json");
const choose = (folder: string): Promise<void> =>
  chooseArchive(home, join(root, folder), silentLog);

test("where the log is archived is noted once, and anew as a whole file when it changes", async () => {
  await choose("first");
  const first = statSync(note, { bigint: true });
  const life = readArchive(home)?.life;
  await choose("first");
  const again = statSync(note, { bigint: true });
  expect([again.ino, again.ctimeNs]).toEqual([first.ino, first.ctimeNs]);
  // Cut by a crash while it was written.
  writeFileSync(`${note}.partial`, "{");
  await choose("second");
  expect(readArchive(home)).toMatchObject({ life, folder: join(root, "second", life ?? "") });
  // A file that is written in place is half written for a moment.
  expect(statSync(note, { bigint: true }).ino).not.toBe(first.ino);
  expect(readFileSync(note, "utf8")).toContain("second");
  expect(readdirSync(root).toSorted()).toEqual(["archive.json", "first", "second"]);
});
