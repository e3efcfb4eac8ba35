import {
  type AskDeps,
  DIALECTS,
  type EndpointAddress,
  tryWires,
} from "../../listing-tools/index.ts";
import { type Flags, UsageFault } from "../command-context.ts";
import { readText } from "../number-flags.ts";
import type { ModelNote } from "./init-result.ts";

export type ChosenDialect =
  | { readonly ok: true; readonly id: string; readonly notes: readonly ModelNote[] }
  | { readonly ok: false; readonly problem: string };

/** The dialect of `--dialect`, when the endpoint answers in it; else the first in which it answers. */
export async function chooseDialect(
  flags: Flags,
  asked: {
    readonly address: EndpointAddress;
    readonly upstreamId: string;
    readonly deps: AskDeps;
  },
): Promise<ChosenDialect> {
  const wanted = readDialect(flags);
  const { address, upstreamId, deps } = asked;
  const wireIds = wanted === undefined ? DIALECTS : [wanted];
  const trials = await tryWires({ ...address, upstreamId, wireIds }, deps);
  const [chosen, ...others] = trials.filter(({ answers }) => answers);
  if (chosen === undefined) {
    const seen = trials.map((trial) => `${trial.wireId}: ${trial.seen}`).join("; ");
    return { ok: false, problem: `no answer to one token of ${upstreamId} (${seen})` };
  }
  const notes = others.map(({ wireId }): ModelNote => {
    const message = `it answers on ${wireId} too; for a second manifest: --dialect ${wireId} --id another-id`;
    return { model: upstreamId, code: "other_dialect", message };
  });
  return { ok: true, id: chosen.wireId, notes };
}

/** The dialect of `--dialect`; undefined: none is named. */
export function readDialect(flags: Flags): string | undefined {
  const wanted = readText(flags, "dialect");
  if (wanted === undefined || DIALECTS.includes(wanted)) return wanted;
  throw new UsageFault(`--dialect must be ${DIALECTS.join(" or ")}, not ${wanted}`);
}
