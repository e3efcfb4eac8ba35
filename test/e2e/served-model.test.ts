import { describe, expect, test } from "vitest";

import { ask, at, costOf, get, type Wire } from "../support/ask.ts";
import { ended } from "../support/books.ts";
import { simulatorManifest, textModel, withAccount, withGateway } from "../support/gateway.ts";
import { httpCall } from "../support/http-call.ts";

const WIRES: readonly Wire[] = ["wire_a", "wire_b"];

const gateway = withGateway({
  settings: { orgRequestsPerMinute: 10_000, keyRequestsPerMinute: 10_000 },
  manifests: WIRES.map((dialect) =>
    simulatorManifest({
      provider: `up-${dialect.at(-1)}`,
      dialect,
      models: [textModel(`up/${dialect}`, { resolves_to: ["known/elsewhere"] })],
    }),
  ),
});
const account = withAccount(gateway, "25.00");

/** Each upstream wire and kind of answer; whole answers are translated to the client's wire. */
const ROUTES = WIRES.flatMap(
  (upstream) =>
    [
      { wire: upstream, upstream, stream: true },
      { wire: upstream === "wire_a" ? "wire_b" : "wire_a", upstream, stream: false },
    ] as const,
);

async function asked(
  { wire, upstream, stream }: (typeof ROUTES)[number],
  fault: string,
): Promise<{
  readonly attempt: unknown;
  readonly data: unknown;
  readonly cost: bigint | undefined;
}> {
  const model = `up/${upstream}`;
  const text = `which model is this ${fault}`;
  const answer = await ask(gateway.url, { key: account.key, wire, model, stream, text });
  expect(answer.status).toBe(200);
  // The client reads the id that it sent, whatever the provider reported.
  expect(answer.text).not.toContain("elsewhere");
  await ended(gateway, account, answer.requestId);
  const path = `/v1/generation?id=${answer.requestId}`;
  const { json } = await get(gateway.url, { key: account.key, path });
  const data = at(json, "data");
  return { attempt: at(data, "attempts", 0), data, cost: costOf(answer) };
}

describe.each(ROUTES)("from $upstream to $wire, stream $stream", (route) => {
  test("the record has the model that the provider reported, and whether it was substituted", async () => {
    const { attempt, data, cost } = await asked(route, "");
    const served = { served_model: `up/${route.upstream}`, substituted: false };
    expect(attempt).toMatchObject(served);
    expect(data).toMatchObject(served);
    const declared = await asked(route, "[[fault:model_echo:known/elsewhere]]");
    const other = await asked(route, "[[fault:model_echo:other/elsewhere]]");
    expect(declared.attempt).toMatchObject({ served_model: "known/elsewhere", substituted: false });
    expect(other.attempt).toMatchObject({ served_model: "other/elsewhere", substituted: true });
    expect(other.data).toMatchObject({ served_model: "other/elsewhere", substituted: true });
    // A substituted model does not change how the usage is billed.
    expect(cost).toBeGreaterThan(0n);
    expect(other.attempt).toMatchObject({ settlement: "reported" });
  });
});

test("substitutions are counted per listing, and the share is hidden while one customer saw them", async () => {
  await Promise.all(ROUTES.map((route) => asked(route, "[[fault:model_echo:other/elsewhere]]")));
  const { text: metrics } = await httpCall(`${gateway.running.internalUrl}/metrics`);
  expect(metrics).toMatch(/tm_substituted_total\{provider="up-a",model="up\/wire_a"\} [24]\n/);
  expect(metrics).toMatch(/tm_substituted_total\{provider="up-b",model="up\/wire_b"\} [24]\n/);
  expect(metrics).not.toContain("elsewhere");
  const shown = await gateway.backend.usageReports.substitutions();
  expect(shown).toEqual(
    WIRES.map((wire) => ({
      providerId: `up-${wire.at(-1)}`,
      modelId: `up/${wire}`,
      servedModel: "other/elsewhere",
      share: null,
    })),
  );
});
