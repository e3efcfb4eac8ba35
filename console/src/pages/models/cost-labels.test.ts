import { describe, expect, test } from "vitest";

import type { ComparedModel, ListingCost } from "../../../../src/account/console-api/contract.ts";
import { costLabel, costNotes, differenceLabel, otherCosts } from "./cost-labels.ts";

function cost(change: Partial<ListingCost> = {}): ListingCost {
  const known = { provider: "lab", name: "Lab", cost_usd: "1.500000", is_at_least: false };
  return { ...known, too_long: 0, ...change };
}

function model(change: Partial<ComparedModel> = {}): ComparedModel {
  return { model: "a", name: "A", obstacle: null, listings: [cost()], may_lack: [], ...change };
}

describe("the estimated cost", () => {
  test("is shown exactly, as a lower bound, or not at all if it is unknown", () => {
    expect(costLabel(cost())).toBe("$1.500000");
    expect(costLabel(cost({ is_at_least: true }))).toBe("at least $1.500000");
    expect(costLabel(cost({ cost_usd: null }))).toBeUndefined();
    expect(costLabel(undefined)).toBeUndefined();
  });

  test("is compared with the paid amount in dollars and percent", () => {
    expect(differenceLabel(cost(), "2.000000")).toBe("−$0.500000 (−25.0%)");
    expect(differenceLabel(cost(), "1.000000")).toBe("+$0.500000 (+50.0%)");
    expect(differenceLabel(cost(), "1.500000")).toBe("$0.000000 (0.0%)");
    expect(differenceLabel(cost(), "0.000000")).toBe("+$1.500000");
  });

  test("is not compared if it is only a lower bound", () => {
    expect(differenceLabel(cost({ is_at_least: true }), "2.000000")).toBeUndefined();
  });

  test("of the other providers is a range that leaves out the first provider", () => {
    expect(otherCosts([cost()])).toBe("–");
    expect(otherCosts([cost(), cost({ cost_usd: "9.000000" })])).toBe("$9.000000");
    const others = ["10.000000", "9.000000", null].map((cost_usd) => cost({ cost_usd }));
    expect(otherCosts([cost(), ...others])).toBe("$9.000000 to $10.000000");
  });
});

describe("the notes next to a cost", () => {
  test("say why a model has no cost", () => {
    expect(costNotes(model({ obstacle: "not_listed", listings: [] }))).toEqual(["Not listed."]);
    expect(costNotes(model({ obstacle: "modality", listings: [] }))).toEqual([
      "Not a chat model, so your requests cannot run on it.",
    ]);
    expect(costNotes(model({ listings: [cost({ cost_usd: null })] }))).toEqual([
      "Billed as reported by the provider.",
    ]);
  });

  test("name requests that could not run on the model", () => {
    const may_lack = [{ model: "b", parts: ["image", "file"], requests: 2 }];
    expect(costNotes(model({ listings: [cost({ too_long: 1 })], may_lack }))).toEqual([
      "1 attempt is longer than its context and cannot run on it.",
      "It does not accept image or file. Some of your 2 requests to b used this and would be rejected.",
    ]);
    expect(costNotes(model({ listings: [cost({ too_long: null })] }))).toEqual([]);
  });
});
