import { type KeyObject, sign, verify } from "node:crypto";

import { microUsd } from "../../core/index.ts";
import { canonicalText, publicKeyText, type TextDocument } from "../signed-text.ts";
import { sameFold, FoldTally } from "./fold-tally.ts";
import {
  type DayMoved,
  type FoldSums,
  pairName,
  type PairSum,
  parsePart,
  type Part,
} from "./fold.ts";
import {
  bytesDifference,
  type CountedRows,
  countCsv,
  type ExportCheck,
  rowsCheck,
  signatureChecks,
  sumsDifference,
} from "./retention-export.ts";
import { integerAt, parseTextDocument, publicKeyFrom, textAt } from "./retention-manifest.ts";
import { dayFiles } from "./retention.ts";
import type { SigningKey } from "./signing-key.ts";

const FORMAT = "tokenmarket-folded-month-1";

/** What the signature of an exported month of transfers is about. */
export interface FoldManifest {
  readonly part: Part;
  readonly fromPosition: bigint;
  readonly toPosition: bigint;
  /** Name of the newest migration when the month was exported. */
  readonly schema: string;
  readonly sums: FoldSums;
  /** Of the uncompressed rows. */
  readonly sha256: Buffer;
  readonly bytes: number;
}

/** A manifest as it is in a file; whether its signature is right is another question. */
export interface SignedFold extends FoldManifest {
  readonly publicKey: KeyObject;
  readonly signature: Buffer;
  /** The text that was signed. */
  readonly canonicalText: string;
}

/** The text of a manifest file: the same month, key and schema give the same bytes. */
export function signFold(
  manifest: FoldManifest,
  key: SigningKey,
): { readonly text: string; readonly signature: Buffer } {
  const body = { ...bodyOf(manifest), public_key: publicKeyText(key.publicKey) };
  const signature = sign(null, Buffer.from(canonicalText(body)), key.privateKey);
  const document = { ...body, signature: signature.toString("base64") };
  return { text: `${JSON.stringify(document, null, 2)}\n`, signature };
}

/** Undefined: this is the manifest of something else. A text says what is wrong with it. */
export function readFold(text: string): SignedFold | string | undefined {
  const document = parseTextDocument(text);
  if (document?.["format"] !== FORMAT) return undefined;
  try {
    return foldOf(document);
  } catch (fault) {
    return fault instanceof Error ? fault.message : String(fault);
  }
}

/** Undefined: the rows are those that the manifest names. */
export function foldDifference(
  manifest: FoldManifest,
  counted: CountedRows<FoldSums>,
): string | undefined {
  return (
    bytesDifference(manifest, counted) ?? sumsDifference(sameFold(counted.sums, manifest.sums))
  );
}

export async function countFoldCsv(
  range: { readonly fromPosition: bigint; readonly toPosition: bigint },
  pieces: AsyncIterable<Uint8Array>,
): Promise<CountedRows<FoldSums>> {
  return await countCsv((columns) => new FoldTally(columns, range), pieces);
}

/** Proves an exported month: its signature, whose it is, and that the rows are the ones signed for. */
export async function verifyFold(input: {
  readonly manifest: SignedFold;
  readonly rows: AsyncIterable<Uint8Array>;
  /** Undefined: there is no key here to compare with. */
  readonly trustedKey: KeyObject | undefined;
}): Promise<readonly ExportCheck[]> {
  const { manifest, rows, trustedKey } = input;
  const { publicKey, signature, canonicalText: signed } = manifest;
  return [
    ...signatureChecks(
      verify(null, Buffer.from(signed), publicKey, signature),
      publicKey,
      trustedKey,
    ),
    await rowsCheck(`${manifest.sums.transfers} transfers`, async () =>
      foldDifference(manifest, await countFoldCsv(manifest, rows)),
    ),
  ];
}

function bodyOf(manifest: FoldManifest): TextDocument {
  const { part, sums } = manifest;
  return {
    format: FORMAT,
    part,
    from_position: String(manifest.fromPosition),
    to_position: String(manifest.toPosition),
    schema: manifest.schema,
    file: dayFiles(part).rows,
    bytes: String(manifest.bytes),
    sha256: manifest.sha256.toString("hex"),
    transfers: String(sums.transfers),
    amount_micro_usd: String(sums.amountMicroUsd),
    days: Object.fromEntries(inOrder(sums.days).map(([day, moved]) => [day, dayDocument(moved)])),
    pairs: Object.fromEntries(
      inOrder(sums.pairs).map(([name, pair]) => [name, pairDocument(pair)]),
    ),
  };
}

function inOrder<T>(map: ReadonlyMap<string, T>): readonly (readonly [string, T])[] {
  return [...map].sort(([a], [b]) => (a < b ? -1 : 1));
}

function dayDocument(day: DayMoved): TextDocument {
  return {
    settled_micro_usd: String(day.settledMicroUsd),
    refunded_micro_usd: String(day.refundedMicroUsd),
    overrun_micro_usd: String(day.overrunMicroUsd),
    margin_micro_usd: String(day.marginMicroUsd),
  };
}

function pairDocument(pair: PairSum): TextDocument {
  return {
    kind: pair.kind,
    debit_account: pair.debitAccount,
    credit_account: pair.creditAccount,
    transfers: String(pair.transfers),
    amount_micro_usd: String(pair.amountMicroUsd),
  };
}

function foldOf(document: TextDocument): SignedFold {
  const { signature, ...body } = document;
  const part = parsePart(textAt(document, "part"));
  if (part === undefined) throw new Error("part is not a month");
  if (textAt(document, "file") !== dayFiles(part).rows) throw new Error("file is not the month's");
  const pairs = documentsAt(document, "pairs").map(([, pair]) => readPair(pair));
  return {
    part,
    fromPosition: integerAt(document, "from_position"),
    toPosition: integerAt(document, "to_position"),
    schema: textAt(document, "schema"),
    bytes: Number(integerAt(document, "bytes")),
    sha256: Buffer.from(textAt(document, "sha256"), "hex"),
    sums: {
      transfers: integerAt(document, "transfers"),
      amountMicroUsd: microUsd(integerAt(document, "amount_micro_usd")),
      pairs: new Map(pairs.map((pair) => [pairName(pair), pair])),
      days: new Map(documentsAt(document, "days").map(([day, moved]) => [day, readDay(moved)])),
    },
    publicKey: publicKeyFrom(textAt(document, "public_key")),
    signature: Buffer.from(typeof signature === "string" ? signature : "", "base64"),
    canonicalText: canonicalText(body),
  };
}

function documentsAt(
  document: TextDocument,
  name: string,
): readonly (readonly [string, TextDocument])[] {
  const inner = document[name];
  if (typeof inner !== "object") throw new Error(`${name} is missing`);
  return Object.entries(inner).map(([key, value]) => {
    if (typeof value !== "object") throw new Error(`${name}: ${key} has no sums`);
    return [key, value];
  });
}

function readPair(document: TextDocument): PairSum {
  return {
    kind: textAt(document, "kind"),
    debitAccount: textAt(document, "debit_account"),
    creditAccount: textAt(document, "credit_account"),
    transfers: integerAt(document, "transfers"),
    amountMicroUsd: microUsd(integerAt(document, "amount_micro_usd")),
  };
}

function readDay(document: TextDocument): DayMoved {
  return {
    settledMicroUsd: microUsd(integerAt(document, "settled_micro_usd")),
    refundedMicroUsd: microUsd(integerAt(document, "refunded_micro_usd")),
    overrunMicroUsd: microUsd(integerAt(document, "overrun_micro_usd")),
    marginMicroUsd: microUsd(integerAt(document, "margin_micro_usd")),
  };
}
