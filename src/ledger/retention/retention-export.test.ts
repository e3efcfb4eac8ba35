import { generateKeyPairSync } from "node:crypto";

import { describe, expect, test } from "vitest";
import type { CsvRow } from "../../kernel/core/csv.ts";
import {
  countDayCsv,
  findDifference,
  verifyExport,
  writeDayCsv,
  type ExportCheck,
} from "./retention-export.ts";
import { readManifest, signManifest } from "./retention-manifest.ts";
import { parseDay, type Day } from "./retention-tally.ts";

const DAY = parseDay("2026-04-10") as Day;
const RANGE = { fromId: 100n, toId: 200n };
const HEADER =
  "attempt_id org_id provider_id reserve debit overrun cost_pico owed_pico corrected_at note";
const COLUMNS = HEADER.split(" ");
const CORRECTED_AT = "2026-04-10 10:00:00+00";
const ROWS: readonly CsvRow[] = [
  ["100", "org_a", "prov", "1000", "320", "0", "320500000", null, null, "plain"],
  ["150", "org_b", "prov", "1000", "7", "0", "7000000", null, CORRECTED_AT, 'a "b",\nc'],
  ["199", "org_a", "other", "1000", "1000", "700", "1700000000", null, null, ""],
];
const key = generateKeyPairSync("ed25519");

async function* pagesOf(rows: readonly CsvRow[]): AsyncGenerator<readonly CsvRow[]> {
  for (const row of rows) yield [row];
}

async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

async function exported(rows = ROWS) {
  const written = writeDayCsv(COLUMNS, RANGE, pagesOf(rows));
  let csv = "";
  for await (const text of written.text) csv += text;
  const content = { day: DAY, ...RANGE, schema: "0001", ...written.counted() };
  return { csv, content, manifest: signManifest(content, key).text };
}

async function broken(
  manifestText: string,
  csv: string,
  trustedKey = key.publicKey,
): Promise<readonly ExportCheck["id"][]> {
  const read = readManifest(manifestText);
  if (!read.ok) return ["manifest"];
  const manifest = read.document;
  const checks = await verifyExport({ manifest, rows: bytesOf(csv), trustedKey });
  return checks.filter((check) => !check.ok).map((check) => check.id);
}

describe("an exported day", () => {
  test("passes every check if its manifest has other white space and another order", async () => {
    const { csv, manifest } = await exported();
    const members = Object.entries(JSON.parse(manifest) as object).toReversed();
    expect(await broken(JSON.stringify(Object.fromEntries(members)), csv)).toEqual([]);
  });

  test("is rejected if its manifest has a member twice, of which only one is signed", async () => {
    const { csv, manifest } = await exported();
    const doubled = manifest.replace('"bytes"', '"bytes": "1", "bytes"');
    expect(await broken(doubled, csv)).toEqual(["manifest"]);
    expect(readManifest(doubled)).toEqual({ ok: false, problem: "it has /bytes twice" });
  });

  test("has sums of debits, overruns, refunds and costs by provider and organization", async () => {
    const { csv } = await exported();
    const { sums } = await countDayCsv(RANGE, bytesOf(csv));
    expect(sums.all).toEqual({
      attempts: 3n,
      debitMicroUsd: 1_327n,
      overrunMicroUsd: 700n,
      refundMicroUsd: 993n,
      costPicoUsd: 2_027_500_000n,
      owedPicoUsd: 2_027_500_000n,
    });
    expect([...sums.byProvider.keys()]).toEqual(["prov", "other"]);
    expect(sums.byOrg.get("org_b")).toMatchObject({ attempts: 1n, refundMicroUsd: 993n });
  });

  test("fails to be written if the database returns an attempt twice", async () => {
    const [first = [], ...others] = ROWS;
    const written = writeDayCsv(COLUMNS, RANGE, pagesOf([first, first, ...others]));
    const readAll = async (): Promise<void> => {
      for await (const _ of written.text);
    };
    await expect(readAll()).rejects.toThrow("ids are out of order");
  });

  test("is rejected if a row was changed, removed, added or moved", async () => {
    const { csv, manifest } = await exported();
    for (const other of [
      csv.replace("plain", "plaim"),
      csv.replace(",320,", ",321,"),
      csv.replace("org_b", "org_a"),
      csv.replace(/100,.*\n/, ""),
      csv.replace("100,", "151,"),
      csv.replace("199,", "200,"),
      csv.slice(0, -5),
      `${csv}x`,
      "",
      csv.replace("cost_pico", "cost"),
    ]) {
      expect(other).not.toBe(csv);
      expect(await broken(manifest, other)).toEqual(["rows"]);
    }
  });

  test("is rejected if a member of its manifest was changed", async () => {
    const { csv, manifest } = await exported();
    const changed = (change: (document: Record<string, string>) => void): string => {
      const document = JSON.parse(manifest) as Record<string, string>;
      change(document);
      return JSON.stringify(document);
    };
    for (const [text, ids] of [
      [changed((each) => (each["schema"] = "0002")), ["signature"]],
      [changed((each) => (each["more"] = "x")), ["signature"]],
      [changed((each) => (each["debit_micro_usd"] = "1328")), ["signature", "rows"]],
      [changed((each) => (each["organizations"] = {} as string)), ["signature", "rows"]],
      [changed((each) => (each["signature"] = "")), ["signature"]],
      [changed((each) => delete each["signature"]), ["signature"]],
      [changed((each) => delete each["sha256"]), ["manifest"]],
      [changed((each) => (each["file"] = "../other.csv.gz")), ["manifest"]],
      [changed((each) => (each["attempts"] = "1e3")), ["manifest"]],
      [changed((each) => (each["day"] = "2026-02-30")), ["manifest"]],
      [changed((each) => (each["format"] = "x")), ["manifest"]],
      ["[]", ["manifest"]],
      ["", ["manifest"]],
    ] as const) {
      expect({ text, ids: await broken(text, csv) }).toEqual({ text, ids });
    }
  });

  test("is rejected if it was signed with another key than the trusted one", async () => {
    const { csv, content } = await exported();
    const stranger = generateKeyPairSync("ed25519");
    const forged = signManifest(content, stranger).text;
    expect(await broken(forged, csv)).toEqual(["key"]);
    expect(await broken(forged, csv, stranger.publicKey)).toEqual([]);
    const read = readManifest(forged);
    if (!read.ok) throw new Error(read.problem);
    const manifest = read.document;
    const checks = await verifyExport({ manifest, rows: bytesOf(csv), trustedKey: undefined });
    expect(checks.filter((check) => !check.ok)).toEqual([
      { id: "key", ok: false, detail: expect.stringContaining("--public-key") },
    ]);
  });

  test("without attempts is written with 0 attempts, and its CSV counts to the same", async () => {
    const { csv, content } = await exported([]);
    expect(content.sums.all.attempts).toBe(0n);
    expect(findDifference(content, await countDayCsv(RANGE, bytesOf(csv)))).toBeUndefined();
  });
});

test.each([
  ["2026-04-10", true],
  ["2024-02-29", true],
  ["2026-02-29", false],
  ["2026-4-1", false],
  ["2026-13-01", false],
  ["", false],
])("parseDay accepts only a day of the calendar: %j is one: %s", (text, isDay) => {
  expect(parseDay(text) !== undefined).toBe(isDay);
});
