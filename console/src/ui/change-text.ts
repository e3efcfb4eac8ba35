import { toWhole, type Amount, type Unit } from "./charts/measure.ts";

export interface Change {
  readonly direction: "up" | "down" | "same";
  /** Size of the change, such as `"12%"`, `"0.4%"` or `"×14"`. */
  readonly amount: string;
  /** Text for screen readers, such as `"12% higher than"`. The earlier time range follows it. */
  readonly words: string;
}

/** Factor from which an increase is shown as `×14` instead of a percentage. */
const TIMES_MIN = 10n;

/** The change since an earlier amount. Undefined if either is missing or the earlier one is 0. */
export function computeChange(
  unit: Unit,
  now: Amount,
  before: Amount | undefined,
): Change | undefined {
  if (now === null || before === undefined || before === null) return undefined;
  const [nowWhole, beforeWhole] = [toWhole(unit, now), toWhole(unit, before)];
  if (beforeWhole <= 0n || nowWhole < 0n) return undefined;
  if (nowWhole >= TIMES_MIN * beforeWhole) {
    const times = nowWhole / beforeWhole;
    return { direction: "up", amount: `×${times}`, words: `${times} times as high as` };
  }
  const difference = nowWhole - beforeWhole;
  const size = difference < 0n ? -difference : difference;
  const parts = (inWhole: bigint): bigint => (size * inWhole + beforeWhole / 2n) / beforeWhole;
  const tenths = parts(1000n);
  if (tenths === 0n) return { direction: "same", amount: "0%", words: "the same as" };
  const amount = `${tenths < 100n ? tenthsText(tenths) : parts(100n)}%`;
  return difference > 0n
    ? { direction: "up", amount, words: `${amount} higher than` }
    : { direction: "down", amount, words: `${amount} lower than` };
}

function tenthsText(tenths: bigint): string {
  const rest = tenths % 10n;
  return `${tenths / 10n}${rest === 0n ? "" : `.${rest}`}`;
}
