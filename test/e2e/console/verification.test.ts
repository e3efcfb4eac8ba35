import { beforeAll, describe, expect, test } from "vitest";

import { toVerdicts } from "../../../src/cli/conformance-run.ts";
import { failed, warned } from "../../../src/listing-tools/conformance/report/finding.ts";
import { until } from "../../support/books.ts";
import { reportOf, sha256OfManifest, type FoundModel } from "../../support/conformance-reports.ts";
import { PROVIDER_KEY, simulatorManifest, textModel } from "../../support/gateway.ts";
import { at, listAt, textAt, type HttpAnswer } from "../../support/http-call.ts";
import { testOperator } from "../../support/test-operator.ts";
import { withProviderConsole, withPerson } from "./provider-fixture.ts";

const DAY_MS = 86_400_000;
const LAB = simulatorManifest({
  provider: "lab",
  dialect: "wire_a",
  models: [
    textModel("lab/fine"),
    textModel("lab/broken"),
    textModel("lab/new"),
    textModel("lab/staged", { is_ready: false }),
  ],
});
const OTHER = simulatorManifest({
  provider: "other",
  dialect: "wire_a",
  models: [textModel("lab/fine")],
});
const HIDDEN = simulatorManifest({
  provider: "hidden",
  dialect: "wire_a",
  isPrivate: true,
  models: [textModel("lab/fine")],
});

const fixture = withProviderConsole({ manifests: [LAB, OTHER, HIDDEN] });
const ann = withPerson(fixture, "ann");
/** Secrets in a signed report, which a page must not show. */
let secrets: readonly string[];
const nowMs = Date.now();

beforeAll(async () => {
  const { simulator } = fixture.gateway;
  const { host } = new URL(simulator.url);
  secrets = [simulator.url, host, PROVIDER_KEY, "10.1.2.3", "hooks.evil.example"];
  const substituted = failed(`an answer of ${simulator.url}/a/v1 names another model`, {
    sent: "lab/broken",
    reported: ["lab/mini", `via ${host}`],
    header: `Bearer ${PROVIDER_KEY}`,
    note: `key ${PROVIDER_KEY} at 10.1.2.3:80, see https://hooks.evil.example/x`,
  });
  const late = warned("one answer was late");
  await recordRun(3, [{ id: "lab/fine", found: { C12: late } }, { id: "lab/broken" }]);
  await recordRun(2, [{ id: "lab/broken", found: { C7: substituted } }]);
  await recordRun(1, [
    { id: "lab/fine" },
    { id: "lab/broken", found: { C7: substituted, C12: late } },
    { id: "lab/staged" },
  ]);
  await recordRun(1, [{ id: "lab/fine" }], "hidden");
  await until("the console knows the verdicts", async () => {
    const [listing] = await listings("?provider=lab&model=lab/broken");
    return at(listing, "state") === "failed";
  });
});

async function recordRun(
  daysAgo: number,
  models: readonly FoundModel[],
  provider = "lab",
): Promise<void> {
  const { backend, simulator } = fixture.gateway;
  const manifestSha256 = sha256OfManifest(LAB, simulator.url);
  const startedAtMs = nowMs - daysAgo * DAY_MS;
  const report = reportOf({ provider, manifestSha256, startedAtMs, models });
  await backend.verdictStore.record(toVerdicts(report, "run"), testOperator);
}

async function listings(query: string): Promise<readonly unknown[]> {
  const { json } = await ann.do(`GET /api/console/verification${query}`);
  return listAt(json, "listings");
}

function runs(query: string): Promise<HttpAnswer> {
  return ann.ask(`GET /api/console/verification/runs?${query}`);
}

describe("a listing on the verification route", () => {
  test("that failed shows what failed, with evidence that has no address and no key", async () => {
    const [broken] = await listings("?provider=lab&model=lab/broken");
    expect(broken).toMatchObject({
      state: "failed",
      flaws: [
        { id: "C7", status: "fail" },
        { id: "C12", status: "warn" },
      ],
    });
    const evidence = listAt(broken, "checks.6.evidence");
    expect(evidence).toContainEqual({ name: "sent", value: "lab/broken" });
    expect(evidence).toContainEqual({ name: "reported", value: "lab/mini, via [removed]" });
    const text = JSON.stringify(broken);
    for (const secret of secrets) expect(text).not.toContain(secret);
  });

  test("has its checks only when one provider is requested, and no staged or private one is listed", async () => {
    const all = await listings("");
    const names = all.map((each) => `${textAt(each, "provider")} ${textAt(each, "model")}`);
    expect(names.sort()).toEqual([
      "lab lab/broken",
      "lab lab/fine",
      "lab lab/new",
      "other lab/fine",
    ]);
    for (const each of all) expect(at(each, "checks")).toEqual([]);
    const ofModel = await listings("?model=lab/fine");
    expect(ofModel.map((each) => textAt(each, "state")).sort()).toEqual(["unchecked", "verified"]);
    const [fine] = await listings("?provider=lab&model=lab/fine");
    expect(listAt(fine, "checks")).toHaveLength(12);
  });
});

describe("the conformance runs of a listing", () => {
  test("are listed newest first, with what did not pass and why", async () => {
    const { json, text } = await runs("provider=lab&model=lab/broken");
    const found = listAt(json, "runs");
    expect(found.map((run) => at(run, "verdict"))).toEqual(["fail", "fail", "pass"]);
    expect(found.map((run) => at(run, "checked_at"))).toEqual(
      [1, 2, 3].map((days) => new Date(nowMs - days * DAY_MS).toISOString()),
    );
    expect(at(found[0], "flaws.1")).toMatchObject({ id: "C12", message: "one answer was late" });
    expect(at(found[0], "is_current_manifest")).toBe(true);
    for (const secret of secrets) expect(text).not.toContain(secret);
    expect((await runs("provider=other&model=lab/fine")).json).toEqual({ runs: [] });
    expect((await runs("provider=lab")).status).toBe(400);
  });

  test("are a 404 for a staged or private listing, as for an unknown one", async () => {
    const unknown = await runs("provider=nothing&model=lab/fine");
    expect(unknown.status).toBe(404);
    for (const query of ["provider=lab&model=lab/staged", "provider=hidden&model=lab/fine"]) {
      const { status, json } = await runs(query);
      expect({ status, error: at(json, "error") }).toEqual({
        status: 404,
        error: at(unknown.json, "error"),
      });
    }
  });
});
