import { expect, test } from "vitest";

import { until } from "../../support/books.ts";
import { textAt } from "../../support/http-call.ts";
import { newcomer, openProviderFixture } from "./provider-fixture.ts";

test("a program that is stopping finishes an answer of the playground and accepts no new call", async () => {
  const fixture = await openProviderFixture();
  const { simulator } = fixture.gateway;
  const ann = await fixture.signIn(newcomer("ann"));
  await fixture.grant(ann, "5");
  const before = simulator.counts().total;
  let hasEnded = false;
  const answer = ann.ask("POST /playground/v1/chat/completions", {
    body: {
      model: "test/a",
      stream: true,
      max_tokens: 64,
      messages: [{ role: "user", content: "[words:30] [[fault:hold]]" }],
    },
  });
  void answer.finally(() => (hasEnded = true));
  await until("the provider answers", () => simulator.counts().total > before);
  const closing = fixture.close();
  await until("nobody else is let in", () =>
    fetch(fixture.url).then(
      () => false,
      () => true,
    ),
  );
  expect(hasEnded).toBe(false);
  simulator.release();
  const { status, text } = await answer;
  expect(status).toBe(200);
  expect(text).toContain("word30");
  expect(text.trimEnd().endsWith("data: [DONE]")).toBe(true);
  await closing;
});

test("a program that is stopping ends its searches before it waits for running calls", async () => {
  const fixture = await openProviderFixture();
  const { simulator, running } = fixture.gateway;
  const ann = await fixture.signIn(newcomer("ann"));
  await fixture.grant(ann, "5");
  const before = simulator.counts().total;
  const started = await ann.do("POST /api/console/optimize", {
    body: {
      name: "held back",
      objective: "fastest",
      models: ["test/a", "test/b"],
      prompts: ["one", "two", "three"].map((prompt) => `${prompt} [[fault:hold]]`),
      budget_usd: "1.00",
    },
  });
  await until("the provider is asked", () => simulator.counts().total > before);
  const closing = running.close();
  const { optimizeStore } = fixture.gateway.backend;
  const hasEnded = await until("the search has ended", async () => {
    const search = await optimizeStore.find(ann.orgId, textAt(started.json, "search_id"));
    return search?.state === "interrupted";
  });
  expect(hasEnded).toBe(true);
  simulator.release();
  await closing;
  await fixture.close();
});
