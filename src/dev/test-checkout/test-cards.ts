import type { CheckoutDecline } from "./checkout-objects.ts";

export interface TestCard {
  readonly brand: string;
  readonly last4: string;
  /** The card's behavior, in the words that the payer reads on the page. */
  readonly does: string;
  /** How a charge is declined while the payer is absent; undefined if the charge succeeds. */
  readonly decline?: CheckoutDecline;
}

/** The first card is the default. The digits are those of Stripe's test cards. */
export const TEST_CARDS: readonly [TestCard, ...TestCard[]] = [
  { brand: "visa", last4: "4242", does: "every charge succeeds" },
  {
    brand: "visa",
    last4: "0341",
    does: "it is saved, and later charges are declined",
    decline: {
      type: "card_error",
      code: "card_declined",
      decline_code: "generic_decline",
      message: "Your card was declined.",
    },
  },
  {
    brand: "visa",
    last4: "3184",
    does: "it is saved, and later charges ask for authentication",
    decline: {
      type: "card_error",
      code: "authentication_required",
      decline_code: "authentication_required",
      message: "This payment requires authentication.",
    },
  },
];

export function testCard(last4: string | undefined): TestCard {
  return TEST_CARDS.find((card) => card.last4 === last4) ?? TEST_CARDS[0];
}
