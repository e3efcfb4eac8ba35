import { inflateSync } from "node:zlib";

import { describe, expect, test } from "vitest";

import type { StatementDocument } from "../console-api/contract/statements.ts";
import { statementPaper } from "./documents.ts";
import { drawPaper, type Paper } from "./paper.ts";
import { printPaper } from "./print-paper.ts";

function makePaper(change: Partial<Paper>): Paper {
  return {
    title: "Receipt R-000001",
    from: ["Seller"],
    to: ["Buyer"],
    facts: [["Number", "R-000001"]],
    tables: [],
    notes: [],
    at: new Date(0),
    ...change,
  };
}

/** The text of a file, with its compressed parts unpacked. */
async function read(paper: Paper): Promise<string> {
  const bytes = await drawPaper(paper);
  const text = bytes.toString("latin1");
  const parts = [...text.matchAll(/\/FlateDecode\n>>\nstream\n/g)].map(({ index, 0: head }) => {
    try {
      return inflateSync(bytes.subarray(index + head.length)).toString("latin1");
    } catch {
      return "";
    }
  });
  return [text, ...parts].join("\n");
}

const utf16 = (text: string): string => Buffer.from(text, "utf16le").swap16().toString("hex");

describe("a PDF document", () => {
  test.each([
    ["Acme 臺北 Ltd.", "UniGB-UTF16-H", "臺北"],
    ["株式会社トークン", "UniJIS-UTF16-H", "株式会社トークン"],
    ["주식회사 토큰", "UniKS-UTF16-H", "주식회사"],
  ])("prints %s in a font of the PDF viewer", async (name, encoding, run) => {
    const file = await read(makePaper({ to: [name] }));
    expect(file).toContain(`/Encoding /${encoding}`);
    expect(file).toContain(utf16(run));
  });

  test("prints the code point of a character that is in neither its own nor the viewer's fonts", async () => {
    const plain = await read(makePaper({ to: ["[U+0E01][U+1F680]"] }));
    expect(await read(makePaper({ to: ["ก🚀"] }))).toBe(plain);
  });

  test("names no font of the viewer if its own fonts have every character", async () => {
    const file = await read(makePaper({ to: ["Müller & Söhne", "Łódź", "Ελλάδα", "Київ"] }));
    expect(file).not.toContain("UTF16-H");
  });

  test("is drawn off the main thread, byte for byte as on the main thread", async () => {
    const rows = Array.from({ length: 100 }, (_, at) => [`line ${at}`, "$1.00"]);
    const columns = [
      { label: "Name", share: 0.7 },
      { label: "Amount", share: 0.3, isFigure: true },
    ];
    const paper = makePaper({ tables: [{ title: "Lines", columns, rows }] });
    let ticks = 0;
    const clock = setInterval(() => (ticks += 1), 5);
    const printed = await printPaper(paper);
    clearInterval(clock);
    // If `printPaper` drew the document in this thread, the timer could not tick.
    expect(ticks).toBeGreaterThan(0);
    expect(printed.equals(await drawPaper(paper))).toBe(true);
  });

  test("that cannot be drawn fails, and the document queued behind it is still printed", async () => {
    const broken = makePaper({ tables: null as never });
    const papers = [broken, makePaper({})];
    const ends = await Promise.allSettled(papers.map((paper) => printPaper(paper)));
    expect(ends.map(({ status }) => status)).toEqual(["rejected", "fulfilled"]);
  });
});

test("a printed statement has a line for archived usage, and shows a month without usage as $0.00", () => {
  const month: StatementDocument = {
    version: 1,
    org_id: "org_a",
    month: "2026-10",
    opening_usd: "5.000000",
    credits: [],
    usage_usd: "2.000000",
    closing_usd: "3.000000",
    lines: [],
    lines_left_out: 0,
    unlisted_usage_usd: "2.000000",
    models: [],
    keys: [],
  };
  const seller = { name: "", addressLines: [], taxId: "", note: "", noTaxReason: "", url: "u" };
  const kept = { state: "closed", number: "n", closedAtMs: 0, sha256: "", hasLeft: false } as const;
  const printBalance = (change: Partial<StatementDocument>): unknown => {
    const document = { ...month, ...change };
    const statement = { ...kept, document, differences: [] };
    return statementPaper(statement, seller, { name: "A", company: null }).tables[0]?.rows;
  };
  expect(printBalance({})).toEqual([
    ["Opening balance", "$5.00"],
    ["Usage", "-$2.00"],
    ["Includes archived requests not listed below", "-$2.00"],
    ["Closing balance", "$3.00"],
  ]);
  const none = { usage_usd: "0.000000", unlisted_usage_usd: "0.000000", closing_usd: "5.000000" };
  expect(printBalance(none)).toEqual([
    ["Opening balance", "$5.00"],
    ["Usage", "$0.00"],
    ["Closing balance", "$5.00"],
  ]);
});
