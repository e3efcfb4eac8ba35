import type { Logger } from "../../kernel/index.ts";
import type { PurchaseStore } from "./postgres-purchase-store.ts";

/**
 * Says loudly when wallets hold credit that was bought with test money: with real payments beside
 * it, that credit buys what costs real money.
 */
export async function announceTestMoney(
  store: PurchaseStore,
  log: Logger,
): Promise<{ readonly purchases: number }> {
  try {
    const { purchases, orgIds } = await store.testMoney();
    if (purchases > 0) {
      const message =
        "wallets have credit that was bought with TEST MONEY, and real payments are on: use another " +
        "database, or disable the keys of these organizations";
      log.error({ purchases, orgIds }, message);
    }
    return { purchases };
  } catch (fault) {
    log.warn({ err: fault }, "it could not be checked whether wallets have test money");
    return { purchases: 0 };
  }
}
