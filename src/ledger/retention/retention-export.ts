import { createHash, type KeyObject } from "node:crypto";

import { CsvFault, csvLine, CsvReader, type CsvRow } from "../../core/index.ts";
import { isSignedByItsKey, type DayManifest, type SignedManifest } from "./retention-manifest.ts";
import { DayTally, sameSums, TallyFault } from "./retention-tally.ts";
import type { DaySums } from "./retention.ts";

/** First id of a day and first id behind it. */
interface IdRange {
  readonly fromId: bigint;
  readonly toId: bigint;
}

/** Adds up rows as texts while they are written or read. */
export interface Tally<Sums> {
  readonly sums: Sums;
  add(row: CsvRow): void;
}

/** What an export consists of, counted from its rows. */
export interface CountedRows<Sums = DaySums> {
  readonly sums: Sums;
  readonly sha256: Buffer;
  readonly bytes: number;
}

/** Pages of rows on their way into a file; counted when the last piece was taken. */
export interface ExportCsv<Sums = DaySums> {
  readonly text: AsyncIterable<string>;
  counted(): CountedRows<Sums>;
}

/** Writes a day as CSV, and counts what it writes. */
export function writeDayCsv(
  columns: readonly string[],
  range: IdRange,
  pages: AsyncIterable<readonly CsvRow[]>,
): ExportCsv {
  return writeCsv(columns, pages, new DayTally(columns, range));
}

/** Writes pages as CSV with a header, and counts what it writes. */
export function writeCsv<Sums>(
  columns: readonly string[],
  pages: AsyncIterable<readonly CsvRow[]>,
  tally: Tally<Sums>,
): ExportCsv<Sums> {
  const hash = createHash("sha256");
  let bytes = 0;
  async function* write(): AsyncGenerator<string> {
    yield put(`${csvLine(columns)}\n`);
    for await (const rows of pages) {
      let text = "";
      for (const row of rows) {
        tally.add(row);
        text += `${csvLine(row)}\n`;
      }
      yield put(text);
    }
  }
  const put = (text: string): string => {
    hash.update(text);
    bytes += Buffer.byteLength(text);
    return text;
  };
  return {
    text: write(),
    counted: () => ({ sums: tally.sums, sha256: hash.digest(), bytes }),
  };
}

/** Counts a file again. Throws `CsvFault` or `TallyFault` when these are not rows of a day. */
export async function countDayCsv(
  range: IdRange,
  pieces: AsyncIterable<Uint8Array>,
): Promise<CountedRows> {
  return await countCsv((columns) => new DayTally(columns, range), pieces);
}

/** Counts a file whose header names the columns to add up by. */
export async function countCsv<Sums>(
  tallyOf: (columns: readonly string[]) => Tally<Sums>,
  pieces: AsyncIterable<Uint8Array>,
): Promise<CountedRows<Sums>> {
  const hash = createHash("sha256");
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const reader = new CsvReader();
  let tally: Tally<Sums> | undefined;
  let bytes = 0;
  for await (const piece of pieces) {
    hash.update(piece);
    bytes += piece.length;
    for (const row of reader.push(decoder.decode(piece, { stream: true }))) {
      if (tally === undefined) tally = tallyOf(row.map(String));
      else tally.add(row);
    }
  }
  reader.push(decoder.decode());
  reader.end();
  if (tally === undefined) throw new TallyFault("there is not even a header");
  return { sums: tally.sums, sha256: hash.digest(), bytes };
}

/** Undefined: the rows are those that the manifest names. */
export function differenceOf(manifest: DayManifest, counted: CountedRows): string | undefined {
  return (
    bytesDifference(manifest, counted) ?? sumsDifference(sameSums(counted.sums, manifest.sums))
  );
}

export function sumsDifference(isSame: boolean): string | undefined {
  return isSame ? undefined : "the rows add up to other sums";
}

export function bytesDifference(
  manifest: { readonly bytes: number; readonly sha256: Buffer },
  counted: { readonly bytes: number; readonly sha256: Buffer },
): string | undefined {
  if (counted.bytes !== manifest.bytes) {
    return `the rows have ${counted.bytes} bytes, the manifest says ${manifest.bytes}`;
  }
  if (!counted.sha256.equals(manifest.sha256)) return "the rows have another SHA-256";
  return undefined;
}

export interface ExportCheck {
  readonly id: "manifest" | "signature" | "key" | "rows";
  readonly ok: boolean;
  readonly detail: string;
}

/** Proves an exported day: its signature, whose it is, and that the rows are the ones signed for. */
export async function verifyExport(input: {
  readonly manifest: SignedManifest;
  readonly rows: AsyncIterable<Uint8Array>;
  /** Undefined: there is no key here to compare with. */
  readonly trustedKey: KeyObject | undefined;
}): Promise<readonly ExportCheck[]> {
  const { manifest, rows, trustedKey } = input;
  return [
    ...signatureChecks(isSignedByItsKey(manifest), manifest.publicKey, trustedKey),
    await rowsCheck(`${manifest.sums.all.attempts} attempts`, async () =>
      differenceOf(manifest, await countDayCsv(manifest, rows)),
    ),
  ];
}

export function signatureChecks(
  isSigned: boolean,
  key: KeyObject,
  trusted: KeyObject | undefined,
): readonly ExportCheck[] {
  const detail = isSigned ? "the manifest is as it was signed" : "the manifest was changed";
  return [{ id: "signature", ok: isSigned, detail }, keyCheck(key, trusted)];
}

function keyCheck(key: KeyObject, trusted: KeyObject | undefined): ExportCheck {
  const id = "key";
  if (trusted === undefined) {
    return { id, ok: false, detail: "no key to compare with; name one with --public-key" };
  }
  const ok = key.equals(trusted);
  return { id, ok, detail: ok ? "signed by the known key" : "signed by another key" };
}

/** `difference` answers undefined where the rows are those that were signed for. */
export async function rowsCheck(
  what: string,
  difference: () => Promise<string | undefined>,
): Promise<ExportCheck> {
  const id = "rows";
  try {
    const found = await difference();
    const detail = found ?? `${what}, digest and sums agree`;
    return { id, ok: found === undefined, detail };
  } catch (fault) {
    const known = fault instanceof CsvFault || fault instanceof TallyFault;
    const message = fault instanceof Error ? fault.message : String(fault);
    return { id, ok: false, detail: known ? message : `the rows cannot be read: ${message}` };
  }
}
