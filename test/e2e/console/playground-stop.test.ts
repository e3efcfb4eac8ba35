import { expect, test } from "vitest";

import { until } from "../../support/books.ts";
import { chatBody } from "../../support/chat-bodies.ts";
import { textAt } from "../../support/http-call.ts";
import { newcomer, openProviderFixture, SEARCH } from "./provider-fixture.ts";

test("a stopping program ends its searches, finishes a playground answer and takes no new connection", async () => {
  const fixture = await openProviderFixture();
  const { simulator, backend } = fixture.gateway;
  const ann = await fixture.signIn(newcomer("ann"));
  await fixture.grant(ann, "5");
  const prompts = SEARCH.prompts.map((prompt) => `${prompt} [[fault:hold]]`);
  const search = await ann.do("POST /api/console/optimize", { body: { ...SEARCH, prompts } });
  await until("the search's provider is asked", () => simulator.counts().total > 0);
  let hasEnded = false;
  const messages = [{ role: "user", content: "[words:30] [[fault:hold]]" }];
  const body = chatBody("test/a", { stream: true, messages });
  const answer = ann.ask("POST /playground/v1/chat/completions", { body });
  void answer.finally(() => (hasEnded = true));
  await until("the playground's provider is asked", () =>
    simulator.calls().some(({ bodyText }) => bodyText.includes("words:30")),
  );
  const closing = fixture.close();
  // The search ends without waiting for its running calls, which are held back.
  await until("the search has ended", async () => {
    const found = await backend.optimizeStore.find(ann.orgId, textAt(search.json, "search_id"));
    return found?.state === "interrupted";
  });
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
