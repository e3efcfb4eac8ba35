/** The parts of Stripe's objects that purchases use. Amounts are cents, instants seconds. */
export interface CheckoutSession {
  readonly id: string;
  readonly object: "checkout.session";
  readonly mode: "payment";
  status: "open" | "complete" | "expired";
  payment_status: "unpaid" | "paid";
  amount_total: number;
  currency: string;
  livemode: boolean;
  readonly client_reference_id: string | null;
  readonly customer_email: string | null;
  readonly metadata: Record<string, string>;
  /** Of ours: what the payment will say. */
  readonly payment_metadata: Record<string, string>;
  payment_intent: string | null;
  readonly success_url: string;
  readonly cancel_url: string;
  /** Null: nothing more can be paid. */
  url: string | null;
  readonly created: number;
  readonly expires_at: number;
}

export interface CheckoutPayment {
  readonly id: string;
  readonly object: "payment_intent";
  readonly amount: number;
  readonly currency: string;
  status: "processing" | "succeeded" | "requires_payment_method";
  readonly livemode: boolean;
  readonly metadata: Record<string, string>;
  latest_charge: string | null;
}

export interface CheckoutCharge {
  readonly id: string;
  readonly object: "charge";
  readonly amount: number;
  readonly currency: string;
  readonly payment_intent: string;
  readonly receipt_url: string;
}

export interface CheckoutRefund {
  readonly id: string;
  readonly object: "refund";
  readonly amount: number;
  readonly currency: string;
  readonly charge: string | null;
  readonly payment_intent: string;
  status: "succeeded" | "failed";
  readonly created: number;
}

export interface CheckoutDispute {
  readonly id: string;
  readonly object: "dispute";
  readonly amount: number;
  readonly currency: string;
  readonly charge: string | null;
  readonly payment_intent: string;
  status: "needs_response" | "won" | "lost" | "warning_closed";
  readonly created: number;
}

export interface CheckoutEvent {
  readonly id: string;
  readonly object: "event";
  readonly type: string;
  readonly created: number;
  readonly livemode: boolean;
  readonly data: { readonly object: CheckoutSession | CheckoutRefund | CheckoutDispute };
}
