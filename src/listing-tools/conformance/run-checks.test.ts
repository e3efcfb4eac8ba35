import { expect, test } from "vitest";

import type { Deployment } from "../../catalog/catalog.ts";
import { type Check, forAll } from "./checks/check.ts";
import {
  type CheckId,
  chooseWorst,
  failed,
  type Finding,
  passed,
  warned,
} from "./report/finding.ts";
import { Lab } from "./probing/lab.ts";
import { guardFinding, ProbeNotSent } from "./probing/observation.ts";
import { modelVerdict } from "./report/verdict.ts";
import { runChecks } from "./run-checks.ts";

const listing = { modelId: "m", modality: "text" } as Deployment;
const lab = new Lab(listing, () => Promise.reject(new Error("not sent")));

function check(id: CheckId, run: () => Promise<Finding>, inapplicable?: string): Check {
  return { id, title: `title of ${id}`, inapplicable: () => inapplicable, runs: forAll(run) };
}

async function ran(checks: readonly Check[], signal = new AbortController().signal) {
  const ended: CheckId[] = [];
  const reports = await runChecks(lab, {
    checks,
    nowMs: () => 0,
    signal,
    shown: (report) => report,
    onEnd: ({ id }) => void ended.push(id),
  });
  return { ended, reports: reports.map(({ id, status, message }) => [id, status, message]) };
}

const fine = (): Promise<Finding> => Promise.resolve(passed("fine"));

test("check C7 runs last, but the report lists the checks by their numbers", async () => {
  const { ended, reports } = await ran([check("C1", fine), check("C7", fine), check("C9", fine)]);
  expect(ended).toEqual(["C1", "C9", "C7"]);
  expect(reports.map(([id]) => id)).toEqual(["C1", "C7", "C9"]);
});

test("all other checks are skipped if the endpoint gives no usable answer to C1", async () => {
  const silent = () => Promise.resolve({ ...failed("silence"), isUnreachable: true });
  const { reports } = await ran([check("C1", silent), check("C2", fine)]);
  expect(reports).toEqual([
    ["C1", "fail", "silence"],
    ["C2", "skip", "the endpoint gives no usable answer (C1)"],
  ]);
});

test("a probe that was not sent is no failure of the provider", async () => {
  const { reports } = await ran([
    check("C2", () => Promise.reject(new ProbeNotSent("skip", "over the budget of the run"))),
    check("C3", () => Promise.reject(new ProbeNotSent("error", "no answer in 3 tries"))),
    check("C4", fine, "does not apply"),
  ]);
  expect(reports).toEqual([
    ["C2", "skip", "over the budget of the run"],
    ["C3", "error", "no answer in 3 tries"],
    ["C4", "skip", "does not apply"],
  ]);
});

test("a check with an unsent part makes the verdict inconclusive, even if its other parts pass", async () => {
  const unsent = () => Promise.reject(new ProbeNotSent("skip", "over the budget of the run"));
  for (const other of [passed("read"), warned("odd")]) {
    const parts = [other, await guardFinding("audio input", unsent)];
    const finding = chooseWorst(parts, parts[1] ?? other);
    expect(modelVerdict([{ id: "C10", ...finding }])).toBe("inconclusive");
  }
});

test("checks are skipped once the run is ended", async () => {
  const stop = new AbortController();
  stop.abort();
  const { reports } = await ran([check("C2", fine)], stop.signal);
  expect(reports).toEqual([["C2", "skip", "the run was ended"]]);
});

test("an unexpected error in a check ends the run, and is not a finding", async () => {
  await expect(ran([check("C2", () => Promise.reject(new Error("bug")))])).rejects.toThrow("bug");
});
