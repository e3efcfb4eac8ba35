import { type KeyObject, sign, verify } from "node:crypto";

import { microUsd, picoUsd } from "../../core/index.ts";
import { canonicalText, publicKeyText, type TextDocument } from "../signed-text.ts";
import { SETTLEMENT_INTERVALS } from "./settlement-interval.ts";
import type { ClosedPeriodFile } from "./lost-terms.ts";
import type { PeriodName, SettlementStatement } from "./settlement-store.ts";

const FORMAT = "tokenmarket-closed-period-1";

/** `period-<provider>-<start>.json` */
export function periodFileName(period: PeriodName): string {
  const start = new Date(period.startMs).toISOString().slice(0, 13).replace("T", "-");
  return `period-${period.providerId}-${start}.json`;
}

/** The text of a period's file, signed with the Ed25519 key of exports; the same again is the same. */
export function signPeriod(
  statement: SettlementStatement,
  key: { readonly privateKey: KeyObject; readonly publicKey: KeyObject },
): string {
  const body = { ...bodyOf(statement), public_key: publicKeyText(key.publicKey) };
  const signature = sign(null, Buffer.from(canonicalText(body)), key.privateKey);
  return `${JSON.stringify({ ...body, signature: signature.toString("base64") }, null, 2)}\n`;
}

function bodyOf({ period, lines }: SettlementStatement): TextDocument {
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

/** Reads a period's file and proves that this key signed it; a text says what is wrong with it. */
export function readPeriodFile(text: string, trustedKey: KeyObject): ClosedPeriodFile | string {
  let document: TextDocument;
  try {
    document = JSON.parse(text) as TextDocument;
  } catch {
    return "it is not valid JSON";
  }
  const { signature, ...body } = document;
  if (body["format"] !== FORMAT) return `it is not of the format ${FORMAT}`;
  if (typeof signature !== "string") return "it is not signed";
  const signed = Buffer.from(canonicalText(body));
  if (!verify(null, signed, trustedKey, Buffer.from(signature, "base64"))) {
    return "its signature is not that of this installation's key";
  }
  return periodOf(body);
}

function periodOf(body: TextDocument): ClosedPeriodFile | string {
  const mode = textAt(body, "mode");
  const interval = SETTLEMENT_INTERVALS.find((each) => each === textAt(body, "interval"));
  if ((mode !== "prepaid" && mode !== "arrears") || interval === undefined) {
    return "its terms are not known";
  }
  const lines = body["lines"];
  return {
    providerId: textAt(body, "provider_id"),
    startMs: Date.parse(textAt(body, "start")),
    endMs: Date.parse(textAt(body, "end")),
    mode,
    interval,
    costPicoUsd: picoUsd(BigInt(textAt(body, "cost_pico_usd"))),
    carryOutPicoUsd: picoUsd(BigInt(textAt(body, "carry_out_pico_usd"))),
    payableMicroUsd: microUsd(BigInt(textAt(body, "payable_micro_usd"))),
    lines: Object.values(typeof lines === "object" ? lines : {}).map((line) => {
      const of = typeof line === "object" ? line : {};
      return {
        admittedDayMs: Date.parse(textAt(of, "admitted_on")),
        modelId: textAt(of, "model_id"),
        upstreamModelId: textAt(of, "upstream_model_id"),
        attempts: BigInt(textAt(of, "attempts")),
        costPicoUsd: picoUsd(BigInt(textAt(of, "cost_pico_usd"))),
      };
    }),
  };
}

function textAt(document: TextDocument, name: string): string {
  const value = document[name];
  return typeof value === "string" ? value : "";
}
