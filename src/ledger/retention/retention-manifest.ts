import type { KeyObject } from "node:crypto";
import { type Static, Type } from "typebox";

import {
  microUsd,
  picoUsd,
  canonicalText,
  daysBefore,
  documentParts,
  documentReader,
  isSignedBy,
  type ReadDocument,
  readPublicKey,
  type SignedFile,
  signedFile,
  type SigningKey,
  type TextDocument,
} from "../../kernel/index.ts";
import {
  type AttemptSums,
  type Day,
  dayFiles,
  type DayIds,
  type DaySums,
  parseDay,
} from "./retention-tally.ts";

const FORMAT = "tokenmarket-retired-day-1";

export interface DayManifest extends DayIds {
  readonly day: Day;
  readonly schema: string;
  readonly sums: DaySums;
  /** The SHA-256 of the uncompressed rows. */
  readonly sha256: Buffer;
  readonly bytes: number;
}

/** A manifest as read from a file. Its signature is not yet verified. */
export interface SignedManifest extends DayManifest {
  readonly publicKey: KeyObject;
  /** The signature in Base64. */
  readonly signature: string;
  /** The text whose bytes were signed. */
  readonly canonicalText: string;
}

/** Returns the text of a signed manifest, which is equal for equal days, keys and schemas. */
export function signManifest(manifest: DayManifest, key: SigningKey): SignedFile {
  return signedFile(toDocument(manifest), key);
}

const SUMS = {
  attempts: documentParts.integer(),
  debit_micro_usd: documentParts.integer(),
  overrun_micro_usd: documentParts.integer(),
  refund_micro_usd: documentParts.integer(),
  cost_pico_usd: documentParts.integer(),
  owed_pico_usd: documentParts.integer(),
};
const sumsSchema = Type.Object(SUMS, { additionalProperties: Type.String() });
type SumsDocument = Static<typeof sumsSchema>;

const manifestDocument = documentReader(
  Type.Object(
    {
      format: documentParts.format(FORMAT),
      day: Type.String(),
      from_attempt_id: documentParts.integer(),
      to_attempt_id: documentParts.integer(),
      schema: Type.String(),
      file: Type.String(),
      bytes: documentParts.integer(),
      sha256: Type.String(),
      ...SUMS,
      providers: documentParts.byName(sumsSchema),
      organizations: documentParts.byName(sumsSchema),
      public_key: Type.String(),
      signature: Type.Optional(Type.String()),
    },
    { additionalProperties: Type.String() },
  ),
);

export function readManifest(text: string): ReadDocument<SignedManifest> {
  const read = manifestDocument(text);
  if (!read.ok) return read;
  const { signature = "", ...body } = read.document;
  const day = parseDay(body.day);
  if (day === undefined) return { ok: false, problem: "day is not a valid day" };
  if (body.file !== dayFiles(day).rows) return { ok: false, problem: "file is not the day's" };
  const publicKey = readPublicKey(body.public_key);
  if (publicKey === undefined) return { ok: false, problem: "public_key is not an Ed25519 key" };
  const document = {
    day,
    fromId: BigInt(body.from_attempt_id),
    toId: BigInt(body.to_attempt_id),
    schema: body.schema,
    bytes: Number(body.bytes),
    sha256: Buffer.from(body.sha256, "hex"),
    sums: {
      all: readSums(body),
      byProvider: readSumsByName(body.providers),
      byOrg: readSumsByName(body.organizations),
    },
    publicKey,
    signature,
    canonicalText: canonicalText(body),
  };
  return { ok: true, document };
}

export function isSignedByItsKey(manifest: SignedManifest): boolean {
  return isSignedBy(manifest.publicKey, manifest.canonicalText, manifest.signature);
}

function toDocument(manifest: DayManifest): TextDocument {
  const { day, sums } = manifest;
  return {
    format: FORMAT,
    day,
    from: `${day}T00:00:00Z`,
    to: `${daysBefore(day, -1)}T00:00:00Z`,
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

function readSumsByName(sums: Readonly<Record<string, SumsDocument>>): Map<string, AttemptSums> {
  return new Map(Object.entries(sums).map(([id, each]) => [id, readSums(each)]));
}

function readSums(document: SumsDocument): AttemptSums {
  return {
    attempts: BigInt(document.attempts),
    debitMicroUsd: microUsd(BigInt(document.debit_micro_usd)),
    overrunMicroUsd: microUsd(BigInt(document.overrun_micro_usd)),
    refundMicroUsd: microUsd(BigInt(document.refund_micro_usd)),
    costPicoUsd: picoUsd(BigInt(document.cost_pico_usd)),
    owedPicoUsd: picoUsd(BigInt(document.owed_pico_usd)),
  };
}
