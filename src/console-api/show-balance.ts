import { formatUsd, microUsd } from "../core/money.ts";
import type { Balance as LedgerBalance } from "../ledger/spend-reads.ts";
import type { Balance } from "./contract.ts";

export function shownBalance({ settledMicroUsd, heldMicroUsd }: LedgerBalance): Balance {
  return {
    available_usd: formatUsd(microUsd(settledMicroUsd - heldMicroUsd)),
    settled_usd: formatUsd(settledMicroUsd),
    held_usd: formatUsd(heldMicroUsd),
  };
}
