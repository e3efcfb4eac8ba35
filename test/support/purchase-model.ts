import type { BooksModel } from "./books-model.ts";

interface ModelPurchase {
  readonly org: string;
  readonly amount: bigint;
  readonly claims: Map<string, { readonly amount: bigint; isReversed: boolean }>;
  isPaid: boolean;
  taken: bigint;
}

/** Purchases in memory, over the ledger model. The SQL must agree with them. */
export class PurchaseModel {
  readonly #ledger: BooksModel;
  readonly #purchases = new Map<string, ModelPurchase>();

  constructor(ledger: BooksModel) {
    this.#ledger = ledger;
  }

  get ids(): readonly string[] {
    return [...this.#purchases.keys()];
  }

  orgOf(id: string): string {
    return this.#known(id).org;
  }

  buy(id: string, org: string, amount: bigint): void {
    this.#purchases.set(id, { org, amount, claims: new Map(), isPaid: false, taken: 0n });
  }

  /** Records a payment. Returns false if the purchase was paid before. */
  pay(id: string): boolean {
    const purchase = this.#known(id);
    if (purchase.isPaid) return false;
    purchase.isPaid = true;
    this.#ledger.credit("cash:stripe", purchase.org, purchase.amount);
    this.#settle(purchase);
    return true;
  }

  /** Records a refund or dispute. Returns false if it is known; then its first amount stays. */
  claim(update: {
    readonly purchaseId: string;
    readonly claimId: string;
    readonly amount: bigint;
    readonly isReversed: boolean;
  }): boolean {
    const purchase = this.#known(update.purchaseId);
    const known = purchase.claims.get(update.claimId);
    const { amount, isReversed } = update;
    if (known === undefined) purchase.claims.set(update.claimId, { amount, isReversed });
    else known.isReversed ||= isReversed;
    this.#settle(purchase);
    return known === undefined;
  }

  /** Takes or returns money: all claims take at most the amount, and nothing before it is paid. */
  #settle(purchase: ModelPurchase): void {
    if (!purchase.isPaid) return;
    const claims = [...purchase.claims.values()].filter(({ isReversed }) => !isReversed);
    const sum = claims.reduce((total, { amount }) => total + amount, 0n);
    const due = sum < purchase.amount ? sum : purchase.amount;
    const change = due - purchase.taken;
    purchase.taken = due;
    if (change > 0n) this.#ledger.chargeBack(purchase.org, "cash:stripe", change);
    else if (change < 0n) this.#ledger.credit("cash:stripe", purchase.org, -change);
  }

  #known(id: string): ModelPurchase {
    const known = this.#purchases.get(id);
    if (known === undefined) throw new Error(`no purchase ${id}`);
    return known;
  }
}
