import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { npmFolder } from "../../support/clients/client-folder.ts";
import { codingAgents } from "../../support/clients/deep-clients.ts";
import { followGuide, type GuideRun } from "../../support/clients/guide.ts";
import { withGateway, type TestAccount } from "../../support/gateway.ts";
import { at } from "../../support/http-call.ts";
import { walletOf } from "../../support/settled.ts";
import { withResource } from "../../support/with-resource.ts";

/* The agents as programs of the command line, in the versions and with the settings of the guide. */
const CREDIT_MICRO_USD = 10_000_000n;

const gateway = withGateway();
const programs = withResource(async () => {
  const folder = await npmFolder({
    name: "agents",
    dependencies: codingAgents(),
    runsScripts: true,
  });
  return { folder: join(folder, "node_modules", ".bin") };
});

interface Followed {
  readonly run: GuideRun;
  readonly account: TestAccount;
}

async function follow(
  heading: string,
  model: string,
  more: { readonly without?: readonly string[] } = {},
): Promise<Followed> {
  const account = await gateway.account("10.00");
  const { key } = account;
  const input = { url: gateway.url, key, model, programs: programs.folder, ...more };
  return { run: await followGuide(heading, input), account };
}

/** It said what the simulated model says, and what that cost was debited. */
async function expectAnswered({ run, account }: Followed): Promise<void> {
  expect(run.code, run.stderr).toBe(0);
  expect(run.stdout).toMatch(/You said: [^]*say pong/);
  const wallet = await walletOf(gateway, account);
  expect(wallet.held).toBe(0n);
  expect(wallet.settled).toBeLessThan(CREDIT_MICRO_USD);
}

describe("Claude Code with the guide's settings", () => {
  test("answers through the other wire, without thinking", async () => {
    await expectAnswered(await follow("Claude Code", "test/a"));
    const body = gateway.simulator.calls().at(-1)?.body;
    expect(at(body, "model")).toBe("test/a");
  });

  test("answers through its own wire, where thinking works", async () => {
    await expectAnswered(
      await follow("Claude Code", "test/b", { without: ["MAX_THINKING_TOKENS"] }),
    );
    const body = gateway.simulator.calls().at(-1)?.body;
    expect(at(body, "thinking.type")).toBe("adaptive");
    expect(at(body, "max_tokens")).toBe(32_000);
  });

  test("names thinking where the setting that the guide gives is left out", async () => {
    const { run, account } = await follow("Claude Code", "test/a", {
      without: ["MAX_THINKING_TOKENS"],
    });
    expect(run.code).not.toBe(0);
    expect(run.stdout).toMatch(/API Error: 400 thinking /);
    expect(await walletOf(gateway, account)).toEqual({ settled: CREDIT_MICRO_USD, held: 0n });
  });
});

describe("opencode with the guide's settings", () => {
  test.each(["test/a", "test/b"])("answers in front of %s", async (model) => {
    await expectAnswered(await follow("opencode", model));
  });
});

describe("Codex with the guide's settings", () => {
  test.each(["test/a", "test/b"])(
    "answers in front of %s in the guide's version",
    async (model) => {
      const { run, account } = await follow("Codex", model);
      expect(run.code, run.stderr).toBe(0);
      const wallet = await walletOf(gateway, account);
      expect(wallet.held).toBe(0n);
      expect(wallet.settled).toBeLessThan(CREDIT_MICRO_USD);
    },
  );
});

test("the dry run of the guide is an answer about the model", async () => {
  const { run } = await follow("When something is refused", "test/b");
  expect(JSON.parse(run.stdout)).toMatchObject({ candidates: [{ provider: "prov-b" }] });
});
