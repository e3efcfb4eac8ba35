import { expect, test } from "vitest";

import { until } from "../../support/books.ts";
import { newcomer, openProviderFixture } from "./provider-fixture.ts";

test("a stopping program lets an answer of the playground end, and lets no new call in", async () => {
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
