import { expect, test } from "vitest";

import { loadConfig } from "./load-config.ts";
import type { Config } from "./settings.ts";
import { SettingsInForce } from "./settings-in-force.ts";

const KEYS = "stripe: {secret_key: rk_test_1, webhook_secret: a}\nencryption_key: one";
const START = configOf(KEYS);

function configOf(yamlText: string): Config {
  const outcome = loadConfig({ flags: {}, env: {}, yamlText });
  if (outcome.kind === "invalid") throw new Error(outcome.problems.join());
  return outcome.config;
}

test("the log level and secrets follow a change, and other settings keep their first value", () => {
  const inForce = new SettingsInForce(START);
  const next = configOf(
    KEYS.replace("one", "one,two").replace("test_1", "test_2").replace("a}", "b}") +
      "\nlog_level: debug\nport: 1\nretention: {changes_days: 9}",
  );
  const read = inForce.compare(next);
  expect(inForce.current).toBe(START);
  const secrets = ["encryption_key", "stripe.secret_key", "stripe.webhook_secret"];
  expect(read.changed.toSorted()).toEqual([...secrets, "log_level"].toSorted());
  // Only commands read `retention.changes_days`, so it waits for no restart.
  expect(read.waiting).toEqual(["port"]);
  inForce.use(read);
  const { port, retentionChangesDays } = START;
  expect(inForce).toMatchObject({
    current: { ...next, port, retentionChangesDays },
    waiting: ["port"],
  });
  inForce.use(inForce.compare(START));
  expect(inForce).toMatchObject({ current: START, waiting: [] });
});

test.each([
  ["no encryption key", "encryption_key: one", "", "encryption_key"],
  ["no payments", "secret_key: rk_test_1, ", "", "stripe.secret_key"],
  ["no payment webhook", ", webhook_secret: a", "", "stripe.webhook_secret"],
  ["live payments", "rk_test_1", "rk_live_1", "stripe.secret_key"],
])("a change to %s waits for a restart", (_what, before, after, path) => {
  const read = new SettingsInForce(START).compare(configOf(KEYS.replace(before, after)));
  expect(read).toEqual({ config: START, changed: [], waiting: [path] });
});

test("a settings file that is missing for an instant removes no secret", () => {
  const { config, waiting } = new SettingsInForce(configOf(`${KEYS}\nlog_level: debug`)).compare(
    configOf(""),
  );
  expect(config).toEqual(START);
  expect(waiting.toSorted()).toEqual([
    "encryption_key",
    "stripe.secret_key",
    "stripe.webhook_secret",
  ]);
});
