import { createHash } from "node:crypto";

import { formatUsd } from "../../kernel/index.ts";
import type { StatementDocument, StatementFigures, UsageFigures, UsageLine } from "./statements.ts";

export function statementDocument(figures: StatementFigures): StatementDocument {
  return {
    version: 1,
    org_id: figures.orgId,
    month: figures.month,
    opening_usd: formatUsd(figures.openingMicroUsd),
    credits: figures.credits.map(({ kind, count, amountMicroUsd }) => ({
      kind,
      count,
      amount_usd: formatUsd(amountMicroUsd),
    })),
    usage_usd: formatUsd(figures.usageMicroUsd),
    closing_usd: formatUsd(figures.closingMicroUsd),
    lines: figures.lines.map(({ atMs, kind, ref, amountMicroUsd }) => ({
      at: new Date(atMs).toISOString(),
      kind,
      ref,
      amount_usd: formatUsd(amountMicroUsd),
    })),
    lines_left_out: figures.linesLeftOut,
    unlisted_usage_usd: formatUsd(figures.unlistedMicroUsd),
    models: figures.models.map((each) => ({ model: each.model, ...usageLine(each) })),
    keys: figures.keys.map((each) => ({
      key_id: each.keyId,
      name: each.name,
      ...usageLine(each),
    })),
  };
}

function usageLine(figures: UsageFigures): UsageLine {
  return {
    requests: figures.requests,
    input_tokens: figures.inputTokens,
    output_tokens: figures.outputTokens,
    cost_usd: formatUsd(figures.costMicroUsd),
  };
}

/** In hexadecimal. */
export function hashOfDocument(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** What the books say by now that a kept statement does not, a sentence each. */
export function differencesOf(
  kept: StatementDocument,
  now: StatementDocument,
  { isUsageThere }: { readonly isUsageThere: boolean },
): readonly string[] {
  const differences: string[] = [];
  const differs = (what: string, was: string, is: string): void => {
    if (was !== is) differences.push(`${what}: the statement says ${was}, the books say ${is}`);
  };
  const sums = ({ credits }: StatementDocument): string =>
    credits.map(({ kind, count, amount_usd }) => `${count} × ${kind} $${amount_usd}`).join(", ") ||
    "none";
  differs("opening balance", kept.opening_usd, now.opening_usd);
  differs("credits", sums(kept), sums(now));
  if (!isUsageThere) return differences;
  differs("usage", kept.usage_usd, now.usage_usd);
  differs("closing balance", kept.closing_usd, now.closing_usd);
  const models = otherCosts(kept.models, now.models);
  return [...differences, ...models, ...otherCosts(kept.keys, now.keys)];
}

/** The first of those lines whose cost is not the same on both sides. */
function otherCosts(was: readonly CostLine[], is: readonly CostLine[]): readonly string[] {
  const [before, after] = [costsOf(was), costsOf(is)];
  const names = [...new Set([...before.keys(), ...after.keys()])];
  const others = names.filter((name) => before.get(name) !== after.get(name));
  return others.slice(0, OTHERS_SHOWN).map((name) => {
    const [said, found] = [before.get(name) ?? NOTHING, after.get(name) ?? NOTHING];
    return `${name}: the statement says ${said}, the books say ${found}`;
  });
}

type CostLine = UsageLine & { readonly model?: string; readonly key_id?: string };

const OTHERS_SHOWN = 5;
const NOTHING = "0.000000";

function costsOf(lines: readonly CostLine[]): ReadonlyMap<string, string> {
  const some = lines.filter((line) => line.cost_usd !== NOTHING);
  return new Map(some.map((line) => [line.model ?? line.key_id ?? "", line.cost_usd]));
}

/** `2026-10-000123` */
export function statementNumber(month: string, number: bigint): string {
  return `${month}-${number.toString().padStart(6, "0")}`;
}
