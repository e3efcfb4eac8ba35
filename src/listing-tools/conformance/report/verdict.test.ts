import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { CHECK_IDS, type CheckId, type CheckStatus } from "./finding.ts";
import { toExitCode, modelVerdict, providerVerdict, type Verdict } from "./verdict.ts";

function all(status: CheckStatus, changes: Partial<Record<CheckId, CheckStatus>> = {}) {
  return CHECK_IDS.map((id) => ({ id, status: changes[id] ?? status }));
}

describe("the verdict on a model", () => {
  test("is fail when any check but C12 fails", () => {
    for (const id of CHECK_IDS.filter((each) => each !== "C12")) {
      expect([id, modelVerdict(all("pass", { [id]: "fail" }))]).toEqual([id, "fail"]);
    }
  });

  test("is warn when only C12 fails", () => {
    expect(modelVerdict(all("pass", { C12: "fail" }))).toBe("warn");
  });

  test("is inconclusive when a check ends in an error, or when all are skipped", () => {
    expect(modelVerdict(all("pass", { C4: "error", C5: "warn" }))).toBe("inconclusive");
    expect(modelVerdict(all("skip"))).toBe("inconclusive");
  });

  test("is inconclusive when an applicable check was not run for lack of budget", () => {
    const checks = all("pass").map((each) =>
      each.id === "C9" ? { ...each, status: "skip" as const, isUnasked: true } : each,
    );
    expect(modelVerdict(checks)).toBe("inconclusive");
  });

  test("is fail when a check fails, even if all others end in an error", () => {
    expect(modelVerdict(all("error", { C7: "fail" }))).toBe("fail");
  });

  test("never improves when one check other than C12 gets worse", () => {
    const order: readonly Verdict[] = ["pass", "warn", "inconclusive", "fail"];
    const worse: readonly CheckStatus[] = ["pass", "warn", "error", "fail"];
    const status = fc.constantFrom<CheckStatus>("pass", "warn", "error", "fail");
    fc.assert(
      fc.property(fc.array(status, { minLength: 12, maxLength: 12 }), fc.nat(11), (list, at) => {
        const checks = CHECK_IDS.map((id, n) => ({ id, status: list[n] ?? "pass" }));
        const before = modelVerdict(checks);
        const next = worse[Math.min(3, worse.indexOf(list[at] ?? "pass") + 1)] ?? "fail";
        const after = modelVerdict(
          checks.map((each, n) => (n === at ? { ...each, status: next } : each)),
        );
        // A failed C12 only warns, so it may give a better verdict than a C12 that ended in an
        // error.
        const isSoftened = CHECK_IDS[at] === "C12" && next === "fail" && after === "warn";
        expect(isSoftened || order.indexOf(after) >= order.indexOf(before)).toBe(true);
      }),
    );
  });
});

describe("the verdict on a provider", () => {
  test("is the worst verdict of the ready models, or staged if none is ready", () => {
    const model = (verdict: Verdict, ready = true) => ({ ready, verdict });
    expect(providerVerdict([model("pass"), model("warn")])).toBe("warn");
    expect(providerVerdict([model("warn"), model("inconclusive")])).toBe("inconclusive");
    expect(providerVerdict([model("inconclusive"), model("fail")])).toBe("fail");
    expect(providerVerdict([model("pass"), model("fail", false)])).toBe("pass");
    expect(providerVerdict([model("fail", false)])).toBe("staged");
    expect(providerVerdict([])).toBe("inconclusive");
  });

  test("sets the exit code: 0, but 1 for fail and 2 for inconclusive", () => {
    const codes = (["pass", "warn", "staged", "fail", "inconclusive"] as const).map(toExitCode);
    expect(codes).toEqual([0, 0, 0, 1, 2]);
  });
});
