import { sellerOf, type Seller } from "../../src/account/index.ts";
import { byOperator } from "../../src/kernel/index.ts";

/** The author of all changes that tests make. */
export const testOperator = byOperator("test");

/** Returns the seller, for tests that open billing themselves. */
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
