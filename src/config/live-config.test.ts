import { expect, test } from "vitest";

import { LiveConfig, pathsOf, SettingsFault } from "./live-config.ts";
import { loadConfig } from "./load-config.ts";
import type { Config } from "./settings.ts";

const START = configOf("");

function configOf(yamlText: string): Config {
  const outcome = loadConfig({ flags: {}, env: {}, yamlText });
  if (outcome.kind === "invalid") throw new Error(outcome.problems.join());
  return outcome.config;
}

test("a live setting follows, and another waits with the value of the start", () => {
  const live = new LiveConfig(START);
  const prepared = live.prepare(
    configOf("log_level: debug\nport: 1\nretention: {changes_days: 9}"),
  );
  expect(live.current).toBe(START);
  expect(pathsOf(prepared.changed)).toEqual(["log_level"]);
  // Only commands read how long the change log is kept: no restart is needed for it.
  expect(pathsOf(prepared.waiting)).toEqual(["port"]);
  prepared.apply();
  expect(live.current).toEqual({ ...START, logLevel: "debug" });
  expect(live.waiting).toEqual(["port"]);
});

test("what is changed back waits no more, and what follows is compared with what is in force", () => {
  const live = new LiveConfig(START);
  live.prepare(configOf("log_level: debug\nport: 1")).apply();
  const back = live.prepare(configOf("log_level: debug"));
  expect(back).toMatchObject({ changed: [], waiting: [] });
  back.apply();
  expect(live.waiting).toEqual([]);
});

test("all parts follow or none, and the fault names what each of them cannot use", () => {
  const live = new LiveConfig(START);
  const taken: string[] = [];
  live.follow(
    ["logLevel"],
    ({ logLevel }) =>
      () =>
        void taken.push(logLevel),
  );
  live.follow(["purchaseMinUsd"], ({ purchaseMinUsd }) => {
    if (purchaseMinUsd === "none") throw new Error("purchase_min_usd is no amount");
    return () => void taken.push(purchaseMinUsd);
  });
  live.follow(["unusualUseSpendUsd"], () => {
    throw new Error("spend_usd is no amount");
  });
  const bad = "log_level: debug\nbilling: {purchase_min_usd: none}\nunusual_use: {spend_usd: x}";
  const fault = caught(() => live.prepare(configOf(bad)));
  expect(fault).toBeInstanceOf(SettingsFault);
  expect((fault as SettingsFault).problems).toEqual([
    "purchase_min_usd is no amount",
    "spend_usd is no amount",
  ]);
  expect(live.current).toBe(START);
  expect(taken).toEqual([]);
  live.prepare(configOf("log_level: debug")).apply();
  expect(taken).toEqual(["debug"]);
});

test("a part is asked about its own settings alone", () => {
  const live = new LiveConfig(START);
  let asked = 0;
  live.follow(["refusalsPerMinute"], () => {
    asked += 1;
    return () => undefined;
  });
  live.prepare(configOf("log_level: debug")).apply();
  expect(asked).toBe(0);
  live.prepare(configOf("log_level: debug\nlimits: {refusals_rpm: 9}")).apply();
  expect(asked).toBe(1);
});

test("a live setting without a follower is reported, and only live settings can be followed", () => {
  const live = new LiveConfig(START);
  expect(live.unfollowed).toContain("logLevel");
  live.follow(["logLevel"], () => () => undefined);
  expect(live.unfollowed).not.toContain("logLevel");
  expect(() => live.follow(["port"], () => () => undefined)).toThrow("marked live");
});

function caught(run: () => unknown): unknown {
  try {
    run();
  } catch (fault) {
    return fault;
  }
  return undefined;
}
