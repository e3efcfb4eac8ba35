import { mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, onTestFinished, test, vi } from "vitest";

import { watchFiles } from "./watch-files.ts";

const WAIT = { timeout: 5_000 };
/** Changes without a pause in between are taken for one. */
const SLOWLY = { timeout: 5_000, interval: 500 };

test("a file that is written, replaced through a link, gone or made is noticed", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tokenmarket-watch-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const [file, link] = [join(folder, "file"), join(folder, "link")];
  for (const name of ["old", "new"]) writeFileSync(join(folder, name), name);
  writeFileSync(file, "first");
  symlinkSync(join(folder, "old"), link);
  const changed = vi.fn<() => void>();
  onTestFinished(watchFiles([file, link, join(folder, "later")], changed, 5));
  // It has seen the files for the first time when it notices a change.
  let count = 0;
  await vi.waitFor(() => {
    writeFileSync(file, String((count += 1)));
    expect(changed).toHaveBeenCalled();
  }, SLOWLY);
  const first = changed.mock.calls.length;
  const steps: readonly (() => void)[] = [
    () => writeFileSync(file, "other"),
    () => {
      symlinkSync(join(folder, "new"), join(folder, "next"));
      renameSync(join(folder, "next"), link);
    },
    () => rmSync(file),
    () => writeFileSync(join(folder, "later"), "made"),
  ];
  for (const [at, step] of steps.entries()) {
    step();
    await vi.waitFor(() => expect(changed).toHaveBeenCalledTimes(first + at + 1), WAIT);
  }
});
