/** Why automatic top-up is off until a person turns it on again. */
export const PAUSE_REASONS = [
  "card_declined",
  "card_expired",
  "authentication_required",
  "card_missing",
  "charge_refused",
  "payment_parked",
  "payment_returned",
  "amount_not_allowed",
  "operator",
] as const;
export type PauseReason = (typeof PAUSE_REASONS)[number];

export function pauseSentence(reason: PauseReason): string {
  return `Automatic top-up is paused: ${WORDS[reason]}`;
}

const WORDS: Readonly<Record<PauseReason, string>> = {
  card_declined: "the card was declined. Update the card, then turn it on again.",
  card_expired: "the card has expired. Update the card, then turn it on again.",
  authentication_required:
    "the bank asked you to confirm the charge. Use a card that allows automatic charges, then turn it on again.",
  card_missing:
    "the card is no longer known to the payment provider. Save a card, then turn it on again.",
  charge_refused:
    "the payment provider refused the charge. Update the card, then turn it on again.",
  payment_parked: "a payment did not match its purchase. Contact support.",
  payment_returned:
    "a payment was refunded or disputed, and is not charged again by itself. Turn it on again if you still want it.",
  amount_not_allowed:
    "its amount is outside the limits for one purchase. Change the amount, then turn it on again.",
  operator: "your operator has turned it off. Contact support.",
};
