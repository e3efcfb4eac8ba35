import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { agentSnippets } from "../../../console/src/snippets/agent-snippets.ts";
import type { Snippet } from "../../../console/src/snippets/chat-snippets.ts";
import { assert } from "../../../src/kernel/core/assert.ts";
import { npmFolder } from "../../support/clients/client-folder.ts";
import { codingAgents } from "../../support/clients/deep-clients.ts";
import { followGuide, runPrinted, type GuideRun } from "../../support/clients/guide.ts";
import { withGateway, type TestAccount } from "../../support/gateway.ts";
import { at } from "../../support/http-call.ts";
import { walletOf } from "../../support/settled.ts";
import { withResource } from "../../support/with-resource.ts";

/* Runs the agents of examples/coding-agents/README.md with its settings, and with the console's. */
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

/** For each agent: the command that the page shows, and one that asks a single question instead. */
const ASKED = {
  "Claude Code": [/^claude /m, 'claude -p "say pong" '],
  opencode: [/^opencode$/m, 'opencode run "say pong"'],
} as const satisfies Partial<Record<Snippet["label"], readonly [RegExp, string]>>;

/**
 * Runs the code that the welcome page prints for a new key. Only the command that opens the agent
 * is replaced, and the test sets no variables of its own.
 */
async function runSnippet(label: keyof typeof ASKED, modelId: string): Promise<Followed> {
  const account = await gateway.account("10.00");
  const { key } = account;
  const snippets = agentSnippets({ gatewayUrl: gateway.url, modelId, secret: key });
  const { code = "" } = snippets.find((each) => each.label === label) ?? {};
  const [opened, asked] = ASKED[label];
  assert(opened.test(code), `the page opens ${label} by its last line`);
  const input = { url: "", key: "", model: modelId, programs: programs.folder };
  return { run: await runPrinted(code.replace(opened, asked), input), account };
}

/** Checks that the agent printed the simulated model's answer, and that its cost was debited. */
async function expectAnswered({ run, account }: Followed): Promise<void> {
  expect(run.code, run.stderr).toBe(0);
  expect(run.stdout).toMatch(/You said: [^]*say pong/);
  const wallet = await walletOf(gateway, account);
  expect(wallet.held).toBe(0n);
  expect(wallet.settled).toBeLessThan(CREDIT_MICRO_USD);
}

describe("Claude Code with the guide's settings", () => {
  test("answers from a wire_a provider, without thinking", async () => {
    await expectAnswered(await follow("Claude Code", "test/a"));
    const body = gateway.simulator.calls().at(-1)?.body;
    expect(at(body, "model")).toBe("test/a");
  });

  test("answers from a wire_b provider, with thinking", async () => {
    await expectAnswered(
      await follow("Claude Code", "test/b", { without: ["MAX_THINKING_TOKENS"] }),
    );
    const body = gateway.simulator.calls().at(-1)?.body;
    expect(at(body, "thinking.type")).toBe("adaptive");
    expect(at(body, "max_tokens")).toBe(32_000);
  });

  test("gets a 400 that names thinking, and pays nothing, without the guide's MAX_THINKING_TOKENS", async () => {
    const { run, account } = await follow("Claude Code", "test/a", {
      without: ["MAX_THINKING_TOKENS"],
    });
    expect(run.code).not.toBe(0);
    expect(run.stdout).toMatch(/API Error: 400 thinking /);
    expect(await walletOf(gateway, account)).toEqual({ settled: CREDIT_MICRO_USD, held: 0n });
  });
});

describe("opencode with the guide's settings", () => {
  test.each(["test/a", "test/b"])("answers with the model %s", async (model) => {
    await expectAnswered(await follow("opencode", model));
  });
});

describe("Codex with the guide's settings", () => {
  test.each(["test/a", "test/b"])(
    "is served by the model %s in the guide's version",
    async (model) => {
      const { run, account } = await follow("Codex", model);
      expect(run.code, run.stderr).toBe(0);
      const wallet = await walletOf(gateway, account);
      expect(wallet.held).toBe(0n);
      expect(wallet.settled).toBeLessThan(CREDIT_MICRO_USD);
    },
  );
});

describe("an agent with the commands of the welcome page", () => {
  test.each([
    ["Claude Code", "test/a"],
    ["Claude Code", "test/b"],
    ["opencode", "test/a"],
    ["opencode", "test/b"],
  ] as const)("%s answers with the model %s", async (label, model) => {
    await expectAnswered(await runSnippet(label, model));
    expect(at(gateway.simulator.calls().at(-1)?.body, "model")).toBe(model);
  });
});

test("the guide's dry-run command prints the candidates of the model", async () => {
  const { run } = await follow("When something is refused", "test/b");
  expect(JSON.parse(run.stdout)).toMatchObject({ candidates: [{ provider: "prov-b" }] });
});
