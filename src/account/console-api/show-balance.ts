import { formatUsd, microUsd } from "../../kernel/index.ts";
import type { Balance as LedgerBalance } from "../../ledger/index.ts";
import type { Balance } from "./contract.ts";

export function shownBalance({ settledMicroUsd, heldMicroUsd }: LedgerBalance): Balance {
  return {
    available_usd: formatUsd(microUsd(settledMicroUsd - heldMicroUsd)),
    settled_usd: formatUsd(settledMicroUsd),
    held_usd: formatUsd(heldMicroUsd),
  };
}
