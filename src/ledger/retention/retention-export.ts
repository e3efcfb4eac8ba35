import { createHash, type KeyObject } from "node:crypto";

import { CsvFault, csvLine, CsvReader, type CsvRow, toReason } from "../../kernel/index.ts";
import { isSignedByItsKey, type DayManifest, type SignedManifest } from "./retention-manifest.ts";
import { type DayIds, DayTally, sameSums, TallyFault } from "./retention-tally.ts";

export type CountedRows = Pick<DayManifest, "sums" | "sha256" | "bytes">;

/** The CSV text of a day. `counted` is right only after the whole text was read. */
export interface DayCsv {
  readonly text: AsyncIterable<string>;
  counted(): CountedRows;
}

export function writeDayCsv(
  columns: readonly string[],
  ids: DayIds,
  pages: AsyncIterable<readonly CsvRow[]>,
): DayCsv {
  const tally = new DayTally(columns, ids);
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

/**
 * Sums up and hashes a day's CSV file. Rejects with `CsvFault` or `TallyFault` for other text, and
 * with a `TypeError` for bytes that are not UTF-8.
 */
export async function countDayCsv(
  ids: DayIds,
  pieces: AsyncIterable<Uint8Array>,
): Promise<CountedRows> {
  const hash = createHash("sha256");
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const reader = new CsvReader();
  let tally: DayTally | undefined;
  let bytes = 0;
  for await (const piece of pieces) {
    hash.update(piece);
    bytes += piece.length;
    for (const row of reader.push(decoder.decode(piece, { stream: true }))) {
      if (tally === undefined) tally = new DayTally(row.map(String), ids);
      else tally.add(row);
    }
  }
  reader.push(decoder.decode());
  reader.end();
  if (tally === undefined) throw new TallyFault("there is not even a header");
  return { sums: tally.sums, sha256: hash.digest(), bytes };
}

export function findDifference(manifest: DayManifest, counted: CountedRows): string | undefined {
  if (counted.bytes !== manifest.bytes) {
    return `the rows have ${counted.bytes} bytes, the manifest says ${manifest.bytes}`;
  }
  if (!counted.sha256.equals(manifest.sha256)) return "the rows have another SHA-256";
  if (!sameSums(counted.sums, manifest.sums)) return "the rows add up to other sums";
  return undefined;
}

export interface ExportCheck {
  readonly id: "manifest" | "signature" | "key" | "rows";
  readonly ok: boolean;
  readonly detail: string;
}

/** Checks an exported day: its signature, its key, and that its rows match the manifest. */
export async function verifyExport(input: {
  readonly manifest: SignedManifest;
  readonly rows: AsyncIterable<Uint8Array>;
  /** The key that must have signed the day; if undefined, the check of the key fails. */
  readonly trustedKey: KeyObject | undefined;
}): Promise<readonly ExportCheck[]> {
  const { manifest, rows, trustedKey } = input;
  const isSigned = isSignedByItsKey(manifest);
  return [
    {
      id: "signature",
      ok: isSigned,
      detail: isSigned ? "the manifest is as it was signed" : "the manifest was changed",
    },
    keyCheck(manifest.publicKey, trustedKey),
    await rowsCheck(manifest, rows),
  ];
}

function keyCheck(key: KeyObject, trusted: KeyObject | undefined): ExportCheck {
  const id = "key";
  if (trusted === undefined) {
    return { id, ok: false, detail: "no key to compare with; name one with --public-key" };
  }
  const ok = key.equals(trusted);
  return { id, ok, detail: ok ? "signed by the known key" : "signed by another key" };
}

async function rowsCheck(
  manifest: SignedManifest,
  rows: AsyncIterable<Uint8Array>,
): Promise<ExportCheck> {
  const id = "rows";
  try {
    const difference = findDifference(manifest, await countDayCsv(manifest, rows));
    const detail = difference ?? `${manifest.sums.all.attempts} attempts, digest and sums agree`;
    return { id, ok: difference === undefined, detail };
  } catch (fault) {
    const known = fault instanceof CsvFault || fault instanceof TallyFault;
    const reason = toReason(fault);
    return { id, ok: false, detail: known ? reason : `the rows cannot be read: ${reason}` };
  }
}
