interface Stored<O extends string> {
  readonly id: string;
  readonly object: O;
  readonly created: number;
}

/** Stripe's session. In this file, amounts are in cents and instants in Unix seconds. */
export interface CheckoutSession extends Stored<"checkout.session"> {
  readonly mode: "payment" | "setup";
  status: "open" | "complete" | "expired";
  payment_status: "unpaid" | "paid";
  amount_total: number;
  currency: string;
  livemode: boolean;
  readonly client_reference_id: string | null;
  readonly customer_email: string | null;
  readonly metadata: Record<string, string>;
  /** Not in Stripe's object: the metadata that the payment will have. */
  readonly payment_metadata: Record<string, string>;
  /** Not in Stripe's object: the custom fields that the invoice will have, by name. */
  readonly invoice_fields: Readonly<Record<string, string>>;
  payment_intent: string | null;
  setup_intent: string | null;
  readonly customer: string | null;
  /** Not in Stripe's object: true if paying saves the card for the customer. */
  readonly saves_card: boolean;
  readonly success_url: string;
  readonly cancel_url: string;
  /** Null if the session can no longer be paid. */
  url: string | null;
  readonly expires_at: number;
}

export interface CheckoutPayment extends Stored<"payment_intent"> {
  readonly amount: number;
  readonly currency: string;
  status: "processing" | "succeeded" | "requires_payment_method";
  readonly livemode: boolean;
  readonly customer: string | null;
  payment_method: string | null;
  last_payment_error: CheckoutDecline | null;
  readonly metadata: Record<string, string>;
  latest_charge: string | null;
}

export interface CheckoutDecline {
  readonly type: "card_error";
  readonly code: string;
  readonly decline_code?: string;
  readonly message: string;
}

export interface CheckoutCustomer extends Stored<"customer"> {
  readonly metadata: Record<string, string>;
}

/** A saved card. Its last digits determine how it behaves: see `test-cards.ts`. */
export interface CheckoutCard extends Stored<"payment_method"> {
  readonly type: "card";
  /** Null if the card was detached from its customer, and can no longer be charged. */
  customer: string | null;
  readonly card: {
    readonly brand: string;
    readonly last4: string;
    readonly exp_month: number;
    readonly exp_year: number;
  };
}

export interface CheckoutSetup extends Stored<"setup_intent"> {
  readonly status: "succeeded";
  readonly customer: string | null;
  readonly payment_method: string;
}

export interface CheckoutCharge {
  readonly id: string;
  readonly object: "charge";
  readonly amount: number;
  readonly currency: string;
  readonly payment_intent: string;
  readonly receipt_url: string;
  readonly payment_method_details: {
    readonly type: "card";
    readonly card: { readonly brand: string; readonly last4: string };
  };
}

export interface CheckoutReturn {
  readonly amount: number;
  readonly currency: string;
  readonly charge: string | null;
  readonly payment_intent: string;
}

export interface CheckoutRefund extends CheckoutReturn, Stored<"refund"> {
  status: "pending" | "succeeded" | "failed";
}

export interface CheckoutDispute extends CheckoutReturn, Stored<"dispute"> {
  status: "needs_response" | "won" | "lost" | "warning_closed";
}

export interface CheckoutEvent extends Stored<"event"> {
  readonly type: string;
  readonly livemode: boolean;
  readonly data: {
    readonly object: CheckoutSession | CheckoutPayment | CheckoutRefund | CheckoutDispute;
  };
}
