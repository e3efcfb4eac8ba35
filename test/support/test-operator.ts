import { sellerOf, type Seller } from "../../src/account/index.ts";
import { byOperator } from "../../src/kernel/index.ts";

export const testOperator = byOperator("test");

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
