import { sellerOf, type Seller } from "../../src/account/index.ts";
import { byOperator } from "../../src/kernel/index.ts";

/** The author of everything that a test prepares. */
export const testOperator = byOperator("test");

/** Who sells, where a test opens billing by itself. */
export const testSeller = (): Seller =>
  sellerOf(
    {
      issuerName: "Gateway GmbH",
      issuerAddress: "Hauptstr. 1 | 10115 Berlin | DE",
      issuerTaxId: "",
      issuerNote: "",
      issuerNoTaxReason: "No tax.",
    },
    "https://gateway.example",
  );
