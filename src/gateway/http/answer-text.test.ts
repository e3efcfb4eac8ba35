import { afterEach, expect, test } from "vitest";

import { Listeners } from "../../../test/support/http-listener.ts";
import { get, type Route } from "./route-table.ts";

const listeners = new Listeners();
afterEach(async () => {
  await listeners.close();
});

async function answerOf(serve: Route["serve"]): Promise<string> {
  const { url } = await listeners.listen([get("/v1/models", serve)], {});
  return await (await fetch(`${url}/v1/models`)).text();
}

test.each(["plain", "grüße 🙂", "\u0080ÿ"])(
  "an answer with the text %s reaches the client unchanged",
  async (text) => {
    expect(await answerOf(async (exchange) => exchange.answer("text/plain", {}, text))).toBe(text);
  },
);

test("the pieces of a stream reach the client unchanged, whichever of them are plain ASCII", async () => {
  const texts = ["é", "plain", "🙂", "\u0080", "last ü"];
  const serve: Route["serve"] = async (exchange) => {
    exchange.begin("text/plain", {});
    for (const text of texts.slice(0, -1)) exchange.write(text);
    exchange.end(texts.at(-1) ?? "");
  };
  expect(await answerOf(serve)).toBe(texts.join(""));
});
