import { createPublicKey, sign, verify, type KeyObject } from "node:crypto";

import { microUsd, picoUsd } from "../../core/index.ts";
import { canonicalText, publicKeyText, type TextDocument } from "../signed-text.ts";
import {
  dayAfter,
  dayFiles,
  parseDay,
  type AttemptSums,
  type Day,
  type DaySums,
} from "./retention.ts";

const FORMAT = "tokenmarket-retired-day-1";

/** What the signature of an exported day is about. */
export interface DayManifest {
  readonly day: Day;
  /** First attempt id of the day and first id behind it. */
  readonly fromId: bigint;
  readonly toId: bigint;
  /** Level of the database schema when the day was exported. */
  readonly schema: string;
  readonly sums: DaySums;
  /** Of the uncompressed rows. */
  readonly sha256: Buffer;
  readonly bytes: number;
}

/** A manifest as it is in a file; whether its signature is right is another question. */
export interface SignedManifest extends DayManifest {
  readonly publicKey: KeyObject;
  readonly signature: Buffer;
  /** The text that was signed. */
  readonly canonicalText: string;
}

/**
 * The text of a manifest file, signed with an Ed25519 key. It has no time of its own: the same
 * day, key and schema give the same bytes.
 */
export function signManifest(
  manifest: DayManifest,
  key: { readonly privateKey: KeyObject; readonly publicKey: KeyObject },
): { readonly text: string; readonly signature: Buffer } {
  const body = { ...bodyOf(manifest), public_key: publicKeyText(key.publicKey) };
  const signature = sign(null, Buffer.from(canonicalText(body)), key.privateKey);
  const document = { ...body, signature: signature.toString("base64") };
  return { text: `${JSON.stringify(document, null, 2)}\n`, signature };
}

/** Reads a manifest file; the answer as a text says what is wrong with it. */
export function readManifest(text: string): SignedManifest | string {
  const document = parsed(text);
  if (document === undefined) return "not a JSON object";
  if (document["format"] !== FORMAT) return `not of the format ${FORMAT}`;
  try {
    return manifestOf(document);
  } catch (fault) {
    return fault instanceof Error ? fault.message : String(fault);
  }
}

export function isSignedByItsKey(manifest: SignedManifest): boolean {
  const { canonicalText: text, publicKey, signature } = manifest;
  return verify(null, Buffer.from(text), publicKey, signature);
}

function bodyOf(manifest: DayManifest): TextDocument {
  const { day, sums } = manifest;
  return {
    format: FORMAT,
    day,
    from: `${day}T00:00:00Z`,
    to: `${dayAfter(day)}T00:00:00Z`,
    from_attempt_id: String(manifest.fromId),
    to_attempt_id: String(manifest.toId),
    schema: manifest.schema,
    file: dayFiles(day).rows,
    bytes: String(manifest.bytes),
    sha256: manifest.sha256.toString("hex"),
    ...sumsDocument(sums.all),
    providers: sumsByName(sums.byProvider),
    organizations: sumsByName(sums.byOrg),
  };
}

function sumsByName(sums: ReadonlyMap<string, AttemptSums>): TextDocument {
  return Object.fromEntries(
    [...sums].sort(([a], [b]) => (a < b ? -1 : 1)).map(([id, each]) => [id, sumsDocument(each)]),
  );
}

function sumsDocument(sums: AttemptSums): TextDocument {
  return {
    attempts: String(sums.attempts),
    debit_micro_usd: String(sums.debitMicroUsd),
    overrun_micro_usd: String(sums.overrunMicroUsd),
    refund_micro_usd: String(sums.refundMicroUsd),
    cost_pico_usd: String(sums.costPicoUsd),
    owed_pico_usd: String(sums.owedPicoUsd),
  };
}

function manifestOf(document: TextDocument): SignedManifest {
  const { signature, ...body } = document;
  const day = parseDay(textAt(document, "day"));
  if (day === undefined) throw new Error("day is not a valid day");
  if (textAt(document, "file") !== dayFiles(day).rows) throw new Error("file is not the day's");
  return {
    day,
    fromId: integerAt(document, "from_attempt_id"),
    toId: integerAt(document, "to_attempt_id"),
    schema: textAt(document, "schema"),
    bytes: Number(integerAt(document, "bytes")),
    sha256: Buffer.from(textAt(document, "sha256"), "hex"),
    sums: {
      all: readSums(document),
      byProvider: readSumsByName(document, "providers"),
      byOrg: readSumsByName(document, "organizations"),
    },
    publicKey: readPublicKey(textAt(document, "public_key")),
    signature: Buffer.from(typeof signature === "string" ? signature : "", "base64"),
    canonicalText: canonicalText(body),
  };
}

function readSumsByName(document: TextDocument, name: string): Map<string, AttemptSums> {
  const inner = document[name];
  if (typeof inner !== "object") throw new Error(`${name} is missing`);
  return new Map(
    Object.entries(inner).map(([id, sums]) => {
      if (typeof sums !== "object") throw new Error(`${name}: ${id} has no sums`);
      return [id, readSums(sums)];
    }),
  );
}

function readSums(document: TextDocument): AttemptSums {
  // Manifests from before providers had prices of their own say it once.
  const owed = Object.hasOwn(document, "owed_pico_usd") ? "owed_pico_usd" : "cost_pico_usd";
  return {
    attempts: integerAt(document, "attempts"),
    debitMicroUsd: microUsd(integerAt(document, "debit_micro_usd")),
    overrunMicroUsd: microUsd(integerAt(document, "overrun_micro_usd")),
    refundMicroUsd: microUsd(integerAt(document, "refund_micro_usd")),
    costPicoUsd: picoUsd(integerAt(document, "cost_pico_usd")),
    owedPicoUsd: picoUsd(integerAt(document, owed)),
  };
}

function readPublicKey(text: string): KeyObject {
  const key = createPublicKey({ key: Buffer.from(text, "base64"), format: "der", type: "spki" });
  if (key.asymmetricKeyType !== "ed25519") throw new Error("public_key is not an Ed25519 key");
  return key;
}

function textAt(document: TextDocument, name: string): string {
  const value = document[name];
  if (typeof value !== "string") throw new Error(`${name} is missing`);
  return value;
}

function integerAt(document: TextDocument, name: string): bigint {
  const text = textAt(document, name);
  if (!/^-?\d{1,39}$/.test(text)) throw new Error(`${name} is not a whole number`);
  return BigInt(text);
}

function parsed(text: string): TextDocument | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isTextDocument(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isTextDocument(value: unknown): value is TextDocument {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return Object.values(value).every((each) => typeof each === "string" || isTextDocument(each));
}
