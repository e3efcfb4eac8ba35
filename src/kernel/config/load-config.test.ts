import { expect, test } from "vitest";

import { loadConfig } from "./load-config.ts";
import { environmentName, SETTINGS, type Setting } from "./settings.ts";

type Source = Parameters<typeof loadConfig>[0];

/** Returns what is wrong with these settings; nothing if they are loaded. */
function findProblems(env: Source["env"], more: Partial<Source> = {}): readonly string[] {
  const outcome = loadConfig({ flags: {}, env, ...more });
  return outcome.kind === "invalid" ? outcome.problems : [];
}

test("without flags, environment or file every setting has its documented default", () => {
  const outcome = loadConfig({ flags: {}, env: {} });
  expect(outcome).toMatchObject({
    kind: "loaded",
    config: { port: 8080, consolePort: 8081, dataDir: "./data", streamHeadersTimeoutMs: 20_000 },
  });
});

test("a flag wins over the environment, and the environment over the file", () => {
  const yamlText = "port: 1\nconsole_port: 2\ninternal_port: 3\n";
  const env = { TM_PORT: "10", TM_CONSOLE_PORT: "20" };
  const outcome = loadConfig({ flags: { port: 100 }, env, yamlText });
  expect(outcome).toMatchObject({
    kind: "loaded",
    config: { port: 100, consolePort: 20, internalPort: 3 },
  });
});

test("the public URLs are read without slashes at their end", () => {
  const env = { TM_GATEWAY_URL: "https://x.example/gw//", TM_CONSOLE_URL: "https://y.example/" };
  expect(loadConfig({ flags: {}, env })).toMatchObject({
    config: { gatewayUrl: "https://x.example/gw", consoleUrl: "https://y.example" },
  });
});

test("auth.key_cache_ms can be at most five seconds", () => {
  expect(findProblems({ TM_AUTH_KEY_CACHE_MS: "5001" })).toEqual([
    "TM_AUTH_KEY_CACHE_MS: auth.key_cache_ms must be a whole number from 0 to 5000",
  ]);
  const most = loadConfig({ flags: {}, env: { TM_AUTH_KEY_CACHE_MS: "5000" } });
  expect(most).toMatchObject({ config: { keyCacheMs: 5_000 } });
});

test("every time in milliseconds is bounded so that a timer can wait for the sum of two", () => {
  const settings: readonly Setting<unknown>[] = Object.values(SETTINGS);
  const times = settings.filter(({ path }) => path.endsWith("_ms"));
  expect(times.length).toBeGreaterThan(20);
  expect(times.filter(({ max = Infinity }) => 2 * max + 60_000 > 2_147_483_647)).toEqual([]);
});

test("all problems are reported together, each with its place and the right form", () => {
  const env = { TM_PORT: "eighty", LOG_LEVEL: "loud" };
  expect(findProblems(env, { yamlText: "timeout: 3\nhost: 5\n" })).toEqual([
    "TM_PORT: port must be a whole number, at least 0",
    "tokenmarket.yaml: host must be a string",
    "LOG_LEVEL: log_level must be one of trace, debug, info, warn, error, fatal, silent",
    "tokenmarket.yaml: there is no setting timeout; see docs/reference/config.md",
  ]);
});

test("a settings file with content but no settings is refused, and an empty settings file is accepted", () => {
  const problems = ["tokenmarket.yaml must have settings, each as `name: value`"];
  for (const yamlText of ["port 9000\n", "- port: 9000\n", "9000\n"]) {
    expect(findProblems({}, { yamlText })).toEqual(problems);
  }
  for (const yamlText of ["", "# none yet\n", "---\n", "timeouts:\n  # generation_ms: 1\n"]) {
    expect(loadConfig({ flags: {}, env: {}, yamlText })).toMatchObject({ kind: "loaded" });
  }
});

test("a problem in a settings file is reported with the name of the file", () => {
  const yamlFile = "/etc/tokenmarket/eu.yaml";
  for (const yamlText of ["port: x\n", "prt: 1\n", "a: [\n", "- 1\n"]) {
    expect(findProblems({}, { yamlText, yamlFile })).toEqual([expect.stringContaining(yamlFile)]);
  }
});

test("a trusted_proxies entry that is not a network is refused with the form to write", () => {
  expect(findProblems({ TM_TRUSTED_PROXIES: "10.0.0.0/8,proxy" })).toEqual([
    'TM_TRUSTED_PROXIES: trusted_proxies has "proxy", which is not a network; write it like 10.0.0.0/8 or ' +
      "2001:db8::/32",
  ]);
});

test("a mail server without a sender is refused, because it could send nothing", () => {
  const problems = [
    "smtp.host has no sender: set smtp.from, such as `Token Market <alerts@example.com>`",
  ];
  const host = { TM_SMTP_HOST: "mail.example.com" };
  expect(findProblems(host)).toEqual(problems);
  expect(findProblems({ ...host, TM_SMTP_USER: "alerts" })).toEqual(problems);
  for (const sender of [{ TM_SMTP_USER: "alerts@example.com" }, { TM_SMTP_FROM: "a@b.example" }]) {
    expect(loadConfig({ flags: {}, env: { ...host, ...sender } }).kind).toBe("loaded");
  }
});

test.each([
  ["TM_PROT", "TM_PORT"],
  ["TM_LIMIT_TOKENS_PER_MINUTE", "TM_LIMITS_TOKENS_PER_MINUTE"],
  ["TM_ENCRYPTION_KEYS", "TM_ENCRYPTION_KEY"],
  ["TM_STRIPE_SECRET_KEY_FIL", "TM_STRIPE_SECRET_KEY_FILE"],
])(
  "the misspelled variable %s is refused with the name that was meant: %s",
  (misspelled, meant) => {
    const problem = `${misspelled}: there is no setting of this name; write ${meant}, or remove it`;
    expect(findProblems({ [misspelled]: "1" })).toEqual([problem]);
  },
);

test("variables of guides, tests and clusters are not taken for misspelled settings", () => {
  const names = ["TM_URL", "TM_MODEL", "TM_TEST_DEPTH", "TM_WORKER_NUMBER", "TM_SERVICE_HOST"];
  const env = Object.fromEntries(names.map((name) => [name, "1"]));
  expect(loadConfig({ flags: {}, env })).toMatchObject({ kind: "loaded" });
});

test("a console address with a path is refused, because the console is served at the root", () => {
  const isRefused = (url: string): boolean => findProblems({ TM_CONSOLE_URL: url }).length > 0;
  const good = ["https://console.example.com", "http://localhost:8081/"];
  expect(good.filter(isRefused)).toEqual([]);
  const bad = ["https://example.com/console", "https://example.com/?a", "example.com", "ftp://a.b"];
  expect(bad.filter(isRefused)).toEqual(bad);
});

test.each([
  ["billing.purchase_min_usd", "5,00", "must be dollars from 0.50 to 999999.99, not 5,00"],
  ["billing.purchase_max_usd", "1000000", "must be dollars from 0.50 to 999999.99, not 1000000"],
  ["billing.purchase_max_usd", "4.00", "billing.purchase_min_usd is above"],
  ["stripe.api_url", "stripe", "is not a URL; it must start with http:// or https://"],
  ["unusual_use.client_addresses", "1001", "must be a whole number from 0 to 1000"],
  ["shutdown_grace_ms", "864000001", "must be a whole number from 0 to 864000000"],
  ...["five", "-1", "0", "0.0000001", "5,00"].map((spend) => [
    "unusual_use.spend_usd",
    spend,
    'must be dollars above 0 such as "5.00", or "" to turn the check off',
  ]),
])("the setting %s refuses %s and says what is valid", (path = "", value = "", problem = "") => {
  const problems = findProblems({ [environmentName(path)]: value }).join();
  expect(problems).toContain(path);
  expect(problems).toContain(problem);
});
