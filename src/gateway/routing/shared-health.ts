/** Something in cooldown: a circuit that opened, or a pool after a provider's 429. */
export interface CooldownNotice {
  readonly kind: "circuit" | "pool";
  /** Deployment id, or pool id. */
  readonly id: string;
  /** From now on. */
  readonly forMs: number;
}

/**
 * Where the instances of one installation share their cooldowns. It only ever keeps traffic
 * away a little longer: without it every instance finds out by itself.
 */
export interface SharedHealth {
  /** Notifies the others; never throws and is never waited for. */
  publish(notice: CooldownNotice): void;
  /** What the others have published and still holds; nothing when the store does not answer. */
  read(): Promise<readonly CooldownNotice[]>;
}
