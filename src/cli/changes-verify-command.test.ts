import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { expect, test } from "vitest";

import { runCommand } from "../../test/support/program.ts";
import { newFolder } from "../../test/support/run-folder.ts";
import { byOperator, exportLines, type RecordedChange } from "../kernel/index.ts";
import { openSigningKey } from "../ledger/index.ts";

test("changes verify passes an export with line separators of Unicode in a text, and with CR LF", async () => {
  const folder = newFolder("changes-verify");
  const keyFile = join(folder, "key.pem");
  const change: RecordedChange = {
    position: 1,
    atMs: 0,
    by: byOperator("ann"),
    action: "ledger.reopen",
    orgId: null,
    target: "life 2",
    before: null,
    after: { reason: "disk lost\u2028restored at 02:00\u2029by ann" },
  };
  const blocks = (async function* () {
    yield [change];
  })();
  const { privateKey } = openSigningKey(keyFile);
  const lines: string[] = [];
  const of = { filter: { sinceMs: 0 }, nowMs: 0, privateKey };
  for await (const line of exportLines(blocks, of)) lines.push(line);
  for (const end of ["\n", "\r\n"]) {
    const file = join(folder, `changes-${end.length}.ndjson`);
    writeFileSync(file, lines.map((line) => `${line}${end}`).join(""));
    const args = ["changes", "verify", file, "--public-key", keyFile, "--json"];
    const { code, stdout } = await runCommand(args);
    expect(JSON.parse(stdout)).toMatchObject({ ok: true, changes: 1, problems: [] });
    expect(code).toBe(0);
  }
});
