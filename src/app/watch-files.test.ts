import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, onTestFinished, test, vi } from "vitest";

import { stateOf, watchState } from "./watch-files.ts";

const WAIT = { timeout: 5_000 };

test("a file that is written, replaced through a link, gone or made is noticed, also in a folder", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tokenmarket-watch-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const [file, link] = [join(folder, "file"), join(folder, "link")];
  for (const name of ["old", "new"]) writeFileSync(join(folder, name), name);
  writeFileSync(file, "first");
  symlinkSync(join(folder, "old"), link);
  const manifests = join(folder, "manifests");
  const changed = vi.fn<() => void>();
  onTestFinished(
    watchState(() => stateOf([file, link, join(folder, "later"), manifests]), changed, 5),
  );
  await vi.waitFor(() => expect(changed).toHaveBeenCalledTimes(1), WAIT);
  const steps: readonly (() => void)[] = [
    () => writeFileSync(file, "other"),
    () => {
      symlinkSync(join(folder, "new"), join(folder, "next"));
      renameSync(join(folder, "next"), link);
    },
    () => rmSync(file),
    () => writeFileSync(join(folder, "later"), "made"),
    () => mkdirSync(manifests),
    () => writeFileSync(join(manifests, "a.json"), "{}"),
    () => writeFileSync(join(manifests, "a.json"), "[]"),
  ];
  for (const [at, step] of steps.entries()) {
    step();
    await vi.waitFor(() => expect(changed).toHaveBeenCalledTimes(at + 2), WAIT);
  }
});
