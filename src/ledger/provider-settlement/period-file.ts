import type { KeyObject } from "node:crypto";
import { Type } from "typebox";

import {
  microUsd,
  picoUsd,
  canonicalText,
  documentParts,
  documentReader,
  isSignedBy,
  type ReadDocument,
  signedFile,
  type SigningKey,
  type TextDocument,
} from "../../kernel/index.ts";
import { SETTLEMENT_INTERVALS } from "./settlement-interval.ts";
import type { ClosedPeriodFile } from "./lost-costs.ts";
import type { PeriodName, SettlementStatement } from "./settlement-store.ts";

const FORMAT = "tokenmarket-closed-period-1";

export function periodFileName(period: PeriodName): string {
  const start = new Date(period.startMs).toISOString().slice(0, 13).replace("T", "-");
  return `period-${period.providerId}-${start}.json`;
}

/** Returns the text of a period's file, signed with the Ed25519 key that also signs exports. */
export function signPeriod(statement: SettlementStatement, key: SigningKey): string {
  return signedFile(toDocument(statement), key).text;
}

function toDocument({ period, lines }: SettlementStatement): TextDocument {
  const iso = (ms: number): string => new Date(ms).toISOString();
  return {
    format: FORMAT,
    provider_id: period.providerId,
    start: iso(period.startMs),
    end: iso(period.endMs),
    mode: period.mode,
    interval: period.interval,
    attempts: String(period.sums.attempts),
    cost_pico_usd: String(period.sums.costPicoUsd),
    debit_micro_usd: String(period.sums.debitMicroUsd),
    carry_in_pico_usd: String(period.carryInPicoUsd),
    carry_out_pico_usd: String(period.carryOutPicoUsd),
    payable_micro_usd: String(period.payableMicroUsd),
    lines: Object.fromEntries(
      lines.map((line, at) => [
        String(at),
        {
          admitted_on: iso(line.admittedDayMs).slice(0, 10),
          model_id: line.modelId,
          upstream_model_id: line.upstreamModelId,
          attempts: String(line.sums.attempts),
          cost_pico_usd: String(line.sums.costPicoUsd),
        },
      ]),
    ),
  };
}

const instant = Type.String({ format: "date-time" });
const periodDocument = documentReader(
  Type.Object({
    format: documentParts.format(FORMAT),
    provider_id: Type.String(),
    start: instant,
    end: instant,
    mode: Type.Enum(["prepaid", "arrears"]),
    interval: Type.Enum([...SETTLEMENT_INTERVALS]),
    cost_pico_usd: documentParts.integer(),
    carry_out_pico_usd: documentParts.integer(),
    payable_micro_usd: documentParts.integer(),
    lines: documentParts.byName(
      Type.Object({
        admitted_on: Type.String(),
        model_id: Type.String(),
        upstream_model_id: Type.String(),
        attempts: documentParts.integer(),
        cost_pico_usd: documentParts.integer(),
      }),
    ),
    signature: Type.String(),
  }),
);

/** Reads a period's file and verifies that `trustedKey` signed it, or returns the problem. */
export function readPeriodFile(
  text: string,
  trustedKey: KeyObject,
): ReadDocument<ClosedPeriodFile> {
  const read = periodDocument(text);
  if (!read.ok) return read;
  const { signature, ...body } = read.document;
  if (!isSignedBy(trustedKey, canonicalText(body), signature)) {
    return { ok: false, problem: "its signature is not that of this installation's key" };
  }
  const document = {
    providerId: body.provider_id,
    startMs: Date.parse(body.start),
    endMs: Date.parse(body.end),
    mode: body.mode,
    interval: body.interval,
    costPicoUsd: picoUsd(BigInt(body.cost_pico_usd)),
    carryOutPicoUsd: picoUsd(BigInt(body.carry_out_pico_usd)),
    payableMicroUsd: microUsd(BigInt(body.payable_micro_usd)),
    lines: Object.values(body.lines).map((line) => ({
      admittedDayMs: Date.parse(line.admitted_on),
      modelId: line.model_id,
      upstreamModelId: line.upstream_model_id,
      attempts: BigInt(line.attempts),
      costPicoUsd: picoUsd(BigInt(line.cost_pico_usd)),
    })),
  };
  return { ok: true, document };
}
