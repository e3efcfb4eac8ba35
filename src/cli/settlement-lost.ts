import type { Backend } from "../app/index.ts";
import { formatExactUsd, picoUsd, type ChangedBy } from "../kernel/index.ts";
import type { LostLine, LostVerdict, ProviderClaim } from "../ledger/index.ts";
import { UsageFault, type CommandAnswer, type Flags } from "./command-context.ts";

const SHOWN_MAX = 20;

/** What is said of lines by what became of them. */
const WORDS: Readonly<Record<LostVerdict, string>> = {
  borne: "lost, owed from now on",
  borne_before: "lost, owed since an earlier run",
  ours: "in the journal",
  put_back: "in a period that was put back",
  retired: "of a retired day; check its export",
  outside: "not of a lost time, and not in the journal",
  impossible: "of an id that no attempt can have",
};
/** A person has to check these. */
const STRANGE: ReadonlySet<LostVerdict> = new Set(["retired", "outside", "impossible"]);

/** `settlement reconcile --lost` */
export async function bearLost(
  { settlementStore }: Backend,
  { flags, by }: { readonly flags: Flags; readonly by: ChangedBy },
  { lines }: ProviderClaim,
): Promise<CommandAnswer> {
  if (lines === undefined) throw new UsageFault("--lost needs a statement with lines");
  const providerId = String(flags["provider"]);
  const judged = await settlementStore.bearLost(providerId, lines, by);
  const groups = (Object.keys(WORDS) as LostVerdict[]).map((verdict) => sumOf(verdict, judged));
  const strange = judged.filter(({ verdict }) => STRANGE.has(verdict));
  return {
    json: {
      provider_id: providerId,
      lines: judged.length,
      ...Object.fromEntries(
        groups.map(({ verdict, count, costUsd }) => [verdict, { lines: count, cost_usd: costUsd }]),
      ),
      strange: strange.slice(0, SHOWN_MAX).map(({ of, id, verdict }) => ({
        [`${of}_id`]: id,
        verdict,
      })),
    },
    text: [
      ...groups
        .filter(({ count }) => count > 0)
        .map(({ verdict, count, costUsd }) => `${count} lines, $${costUsd}: ${WORDS[verdict]}`),
      ...strange
        .slice(0, SHOWN_MAX)
        .map(({ of, id, verdict }) => `  ${of} ${id}: ${WORDS[verdict]}`),
    ].join("\n"),
    exitCode: strange.length === 0 ? 0 : 1,
  };
}

function sumOf(
  verdict: LostVerdict,
  judged: readonly LostLine[],
): { readonly verdict: LostVerdict; readonly count: number; readonly costUsd: string } {
  const lines = judged.filter((line) => line.verdict === verdict);
  const cost = lines.reduce((sum, { costPicoUsd }) => sum + costPicoUsd, 0n);
  return { verdict, count: lines.length, costUsd: formatExactUsd(picoUsd(cost)) };
}
