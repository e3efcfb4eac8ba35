import { beforeAll, expect, test } from "vitest";

import { until } from "../../support/books.ts";
import { at, listAt, textAt } from "../../support/http-call.ts";
import { everyStoredText } from "./every-stored-text.ts";
import { newcomer, withProviderConsole, withPerson } from "./provider-fixture.ts";

const SECRET = "heliotrope-2207";
const PROMPTS = ["one", `two ${SECRET}`, "three, a bit longer than the others"];
const MODELS = ["test/a", "test/b"];

const fixture = withProviderConsole({ settings: { optimizeCallGapMs: 0 } });
const ann = withPerson(fixture, "ann");

beforeAll(async () => {
  await fixture.grant(ann, "5");
});

test("an estimate is the sum of what the gateway's own dry run would hold for each call", async () => {
  const body = { models: MODELS, prompts: PROMPTS, max_tokens: 32 };
  const { json } = await ann.do("POST /api/console/optimize-estimate", { body });
  expect(at(json, "calls")).toBe(6);
  let most = 0;
  for (const [index, model] of MODELS.entries()) {
    let each = 0;
    for (const prompt of PROMPTS) {
      const messages = [{ role: "user", content: prompt }];
      const call = { model, max_tokens: 32, stream: true, messages };
      const route = await ann.ask("POST /playground/v1/route?for=chat", { body: call });
      each += Number(at(route.json, "estimate.reserve_micro_usd"));
    }
    expect(each).toBeGreaterThan(0);
    expect(microUsd(textAt(json, `models.${index}.most_usd`))).toBe(each);
    most += each;
  }
  expect(microUsd(textAt(json, "most_usd"))).toBe(most);
});

test("an estimate includes the judge, and names a model that cannot be called", async () => {
  const models = [...MODELS, "test/unknown"];
  const body = { models, prompts: PROMPTS, max_tokens: 32, judge_model: "test/b" };
  const { json } = await ann.do("POST /api/console/optimize-estimate", { body });
  expect(at(json, "calls")).toBe(12);
  expect(textAt(json, "models.2.message")).toContain("test/unknown");
  expect(at(json, "models.2.most_usd")).toBe("0.000000");
  expect(at(json, "models.0.message")).toBeNull();
  expect(microUsd(textAt(json, "judge.most_usd"))).toBeGreaterThan(
    microUsd(textAt(json, "models.1.most_usd")),
  );
});

test("a search's answers add up to its results, are not stored, and are hidden from others", async () => {
  const started = await ann.do("POST /api/console/optimize", {
    body: {
      name: "which",
      objective: "lowest_cost",
      models: MODELS,
      prompts: PROMPTS,
      max_tokens: 32,
      budget_usd: "1",
    },
  });
  const path = `/api/console/optimize/${textAt(started.json, "search_id")}`;
  const search = await until("the search has ended", async () => {
    const { json } = await ann.do(`GET ${path}`);
    return textAt(json, "state") === "running" ? undefined : json;
  });
  const { json } = await ann.do(`GET ${path}/answers`);
  expect(json).toMatchObject({ held: true, next: 6, lost: 0, has_more: false, verdicts: [] });
  const answers = listAt(json, "answers");
  expect(
    answers.map((each) => `${Number(at(each, "prompt"))} ${textAt(each, "model")}`).toSorted(),
  ).toEqual(PROMPTS.flatMap((_none, n) => MODELS.map((model) => `${n} ${model}`)));
  for (const [index, model] of MODELS.entries()) {
    const own = answers.filter((each) => at(each, "model") === model);
    const cost = own.reduce<number>((sum, each) => sum + microUsd(textAt(each, "cost_usd")), 0);
    expect(cost).toBe(microUsd(textAt(search, `results.${index}.cost_usd`)));
  }
  expect(answers.every((each) => textAt(each, "text").length > 0)).toBe(true);
  // Only what is new, where the browser has the rest.
  const rest = await ann.do(`GET ${path}/answers?after=4`);
  expect(listAt(rest.json, "answers")).toEqual(answers.slice(4));

  const said = answers.map((each) => textAt(each, "text")).find((text) => text.includes(SECRET));
  expect(said).toBeDefined();
  expect(await everyStoredText(fixture.gateway.config.databaseUrl)).not.toContain(SECRET);

  const bob = await fixture.signIn(newcomer("bob"));
  expect((await bob.ask(`GET ${path}/answers`)).status).toBe(404);
});

function microUsd(dollars: string): number {
  return Number(dollars.replace(".", ""));
}
