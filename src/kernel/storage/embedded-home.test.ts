import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { expect, test } from "vitest";

import { newFolder } from "../../../test/support/run-folder.ts";
import { dataFolderProblem } from "./embedded-home.ts";

const root = realpathSync(newFolder("home"));
const data = join(root, "data");
const home = join(data, "postgres");
mkdirSync(join(home, "users"), { recursive: true });
mkdirSync(join(home, "cluster", "base"), { recursive: true });
writeFileSync(join(home, "cluster", "PG_VERSION"), "18\n");

test("the data folder of a server and a folder that does not exist yet are accepted", () => {
  expect(dataFolderProblem(data)).toBeUndefined();
  expect(dataFolderProblem(join(root, "not", "there"))).toBeUndefined();
});

test.each([
  ["the folder of the database", "", "is"],
  ["the database's cluster folder", "cluster", "is"],
  ["a folder in the cluster", "cluster/base", "is inside"],
  ["a folder beside the cluster that is not there yet", "new/data", "is inside"],
])("%s is refused as a data folder, and the right one is named", (_, path, where) => {
  const asked = join(home, path);
  expect(dataFolderProblem(asked)).toBe(
    `${asked} ${where} the own folder of a PostgreSQL; the folder that --data takes is ${data}`,
  );
});

test("a link into a cluster is refused as a data folder", () => {
  const link = join(root, "link");
  symlinkSync(home, link);
  expect(dataFolderProblem(join(link, "x"))).toContain("is inside the own folder of a PostgreSQL");
});
