import { readFile } from "node:fs/promises";

import type { Locator, Page } from "playwright-core";
import { describe, expect, test } from "vitest";

import { startSimulator } from "../../../src/dev/simulator/simulator.ts";
import { until } from "../../support/books.ts";
import {
  deepTest,
  expectAccessible,
  expectFits,
  hasChromium,
  withBrowser,
} from "../../support/browser.ts";
import {
  ask,
  newcomer,
  type Newcomer,
  shownCost,
  recordedCost,
} from "../../support/console-steps.ts";
import { withGatedProvider, type GatedCall } from "../../support/gated-provider.ts";
import { withResource } from "../../support/with-resource.ts";
import { withConsole } from "../../support/console-fixture.ts";
import { decisionManifest, decisionModel } from "../../support/decisions.ts";
import { simulatorManifest, textModel, withSimulator } from "../../support/gateway.ts";
import { listAt } from "../../support/http-call.ts";
import { imageManifest, imageModel } from "../../support/image-models.ts";
import { ShiftedClock } from "../../support/oidc-console.ts";
import { runSql } from "../../support/sql.ts";
import { videoManifest, videoModel } from "../../support/video-host.ts";
import { everyStoredText } from "../console/every-stored-text.ts";

/** An image of one pixel, as a file that a person attaches. */
const PIXEL = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

function prices(perMillion: string): readonly object[] {
  return ["prompt", "completion"].map((type) => ({
    type,
    unit: "token",
    cost_usd_per_million: perMillion,
  }));
}

/** A tenth of a cent per token, so that the balance in the header shows what an answer costs. */
const DEAR = { max_output_tokens: 300, pricing: prices("1000") };

/** The parameters that the simulated video provider supports. */
const FILMS = {
  seconds: { type: "integer", min: 1, max: 12, default: 4, unit: "s" },
  size: { type: "enum", values: ["1280x720", "720x1280"] },
};

/** A provider whose answers advance only as far as a test lets them. */
const gate = withGatedProvider(withSimulator());

/** The time that a job spends in each state, by its provider's clock, which only tests move. */
const STATE_MS = 60_000;
const VIDEO_FAULT = `[[fault:job:{"ms":${STATE_MS}}]]`;

const clock = new ShiftedClock();
const films = withResource(() => startSimulator({ clock }));

/** A new conversation starts with the cheapest of these models. */
const manifests = (): readonly object[] => [
  simulatorManifest({
    provider: "gate",
    dialect: "wire_a",
    baseUrl: `${gate.url}/a/v1`,
    models: [textModel("test/gated", { ...DEAR, display_name: "Gated" })],
  }),
  simulatorManifest({
    provider: "prov-a",
    dialect: "wire_a",
    models: [
      textModel("test/plain", {
        ...DEAR,
        display_name: "Plain",
        released: "2026-03-01",
        supported_parameters: { max_tokens: { type: "integer", min: 1, max: 300 } },
      }),
      textModel("test/rich", {
        display_name: "Rich",
        released: "2026-02-01",
        input_modalities: ["text", "image"],
        supported_parameters: {
          temperature: { type: "range", min: 0, max: 2 },
          reasoning_effort: { type: "enum", values: ["none", "low", "high"] },
          tools: { type: "boolean" },
          response_format: { type: "boolean" },
        },
      }),
      textModel("test/free", { pricing: prices("0"), display_name: "Free" }),
      textModel("test/cheap", { pricing: prices("100"), display_name: "Cheap" }),
      textModel("test/dear", { pricing: prices("1000"), display_name: "Dear" }),
    ],
  }),
  imageManifest({
    baseUrl: "{simulator}/img/v1",
    models: [
      imageModel("test/image", {
        display_name: "Painter",
        price_card: [{ unit: "image", cost_usd: "0.24" }],
      }),
    ],
  }),
  videoManifest({
    provider: "films",
    url: `${films.url}/vid`,
    models: [videoModel("test/video", { display_name: "Filmer", supported_parameters: FILMS })],
  }),
  decisionManifest({
    provider: "judges",
    host: "sys",
    models: [decisionModel("test/decide", { display_name: "Judge", decisions_wire: "systemone" })],
  }),
];

const fixture = withConsole(() => ({
  manifests: manifests(),
  settings: { videoPollMinMs: 1, optimizeCallGapMs: 0 },
}));
const browser = withBrowser();

describe.skipIf(!hasChromium)("the playground's chat", () => {
  /** A new user in the playground with ten dollars, or with none. */
  async function chatter(name: string, usd: string | null = "10"): Promise<Newcomer> {
    const credit = usd === null ? {} : { usd };
    const visitor = await newcomer(fixture, browser, { name, ...credit });
    await visitor.page.goto(`${fixture.consoleUrl}/playground`);
    await visitor.page.getByRole("textbox", { name: "Message" }).waitFor();
    return visitor;
  }

  test("streams an answer, and subtracts its price from the balance in the header", async () => {
    const { page, complaints, orgId } = await chatter("stream");
    await page.getByRole("link", { name: "Balance: $10.00 available" }).waitFor();
    expect(await page.getByRole("combobox", { name: "Model" }).inputValue()).toBe("Free");
    await page.getByRole("button", { name: "Return three test cases" }).click();
    await page.getByRole("button", { name: "Send", exact: true, disabled: false }).waitFor();
    await chooseModel(page, "Gated");
    await say(page, "Words, please [words:40]");
    const answer = answerOf(page, "Gated");
    const text = answer.getByText(/^word1\b/);
    const rest = await letThrough("Words, please", 5);
    const first = await text.innerText();
    rest.release();
    await charged(answer);
    await answer.getByText("served by gate").waitFor();
    // The text that was seen at first is only a part of the whole text.
    const whole = Array.from({ length: 40 }, (_none, at) => `word${at + 1}`).join(" ");
    await expect.poll(() => text.innerText()).toBe(whole);
    expect(first.length).toBeLessThan(whole.length);

    const costMicroUsd = await recordedCost(fixture, orgId, answer);
    await expect.poll(() => shownCost(answer)).toBe(costMicroUsd);
    expect(costMicroUsd).toBeGreaterThan(10_000n);
    await page.getByRole("link", { name: /balance: \$9\.\d\d available/ }).waitFor();
    expect(complaints).toEqual([]);
  });

  test("keeps the received part of a stopped answer, and shows the cost that was charged", async () => {
    const { page, complaints, orgId } = await chatter("stop");
    await chooseModel(page, "Gated");
    await say(page, "Go on and on [words:24]");
    const answer = answerOf(page, "Gated");
    const text = answer.getByText(/^word1\b/);
    const rest = await letThrough("Go on and on", 5);
    await text.waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    await answer.getByText("Stopped by you").waitFor();
    // The next message can be sent at once, while the gateway still reads the provider's answer.
    await page.getByRole("button", { name: "Send", exact: true }).waitFor();
    rest.release();
    await charged(answer);
    await expect.poll(() => text.innerText()).not.toContain("word24");
    const costMicroUsd = await recordedCost(fixture, orgId, answer);
    expect(costMicroUsd).toBeGreaterThan(0n);
    await expect.poll(() => shownCost(answer)).toBe(costMicroUsd);
    expect(complaints).toEqual([]);
  });

  test("keeps an answer that broke off, with its class of error, its id and its price", async () => {
    const { page, complaints, orgId } = await chatter("broken");
    await chooseModel(page, "Plain");
    await say(page, "Break off [words:20] [[fault:error_at_event:6]]");
    const answer = answerOf(page, "Plain");
    await answer.getByText("Ended early").waitFor();
    await expect.poll(() => answer.getByText(/^word1\b/).innerText()).not.toContain("word20");
    const said = answer.getByRole("alert");
    await said.getByText("upstream_error", { exact: true }).waitFor();
    await said.getByRole("button", { name: "Copy request ID" }).waitFor();
    await charged(answer);
    await expect.poll(() => shownCost(answer)).toBe(await recordedCost(fixture, orgId, answer));
    await expectAccessible(page, "an answer that ended early");
    expect(complaints).toEqual([]);
  });

  deepTest("attaches an image only for a model that accepts images", async () => {
    const { page, complaints } = await chatter("attach");
    await chooseModel(page, "Rich");
    const chooser = page.waitForEvent("filechooser");
    await page.getByRole("button", { name: "Attach files" }).click();
    await (await chooser).setFiles({ name: "pixel.png", mimeType: "image/png", buffer: PIXEL });
    await page.getByRole("list", { name: "Attached files" }).getByAltText("pixel.png").waitFor();
    const prompt = "What is on it?";
    await say(page, prompt);
    await charged(answerOf(page, "Rich"));
    expect(sentBodies(prompt)).toEqual([expect.stringContaining(PIXEL.toString("base64"))]);

    // The page names a model that accepts no images, and does not send it the conversation.
    await chooseModel(page, "Plain");
    await page
      .getByText("Plain does not accept images, and this conversation has pixel.png.")
      .waitFor();
    await page.getByLabel("Message", { exact: true }).fill("And now?");
    await expect
      .poll(() => page.getByRole("button", { name: "Send", exact: true }).isDisabled())
      .toBe(true);
    const edited = "What is on it now?";
    await page.getByRole("button", { name: "Edit and send again" }).click();
    await page.getByLabel("Edited message").fill(edited);
    await page.getByRole("button", { name: "Send again" }).click();
    await answerOf(page, "Plain").getByText("Plain does not accept images").waitFor();
    expect(sentBodies(edited)).toEqual([]);
    await chooseModel(page, "Rich");
    await page.getByRole("button", { name: "Get code" }).click();
    const dialog = page.getByRole("dialog", { name: "Code for this request" });
    await dialog.getByText(`${fixture.gateway.url}/v1/chat/completions`).waitFor();
    await dialog.getByText("Messages", { exact: true }).click();
    await dialog.getByText(`${fixture.gateway.url}/v1/messages`).waitFor();
    expect(await dialog.innerText()).not.toContain(PIXEL.toString("base64"));
    expect(complaints).toEqual([]);
  });

  test("a message that would be refused again does not erase the later ones", async () => {
    const { page, complaints } = await chatter("later");
    const turns = page.getByRole("article", { name: "A message and its answers" });
    await chooseModel(page, "Rich");
    await say(page, "First");
    await charged(turns.nth(0));
    const chooser = page.waitForEvent("filechooser");
    await page.getByRole("button", { name: "Attach files" }).click();
    await page.evaluate(`{
      const read = createImageBitmap;
      window.createImageBitmap = async (file) => {
        await new Promise((resolve) => (window.goOn = resolve));
        return await read(file);
      };
    }`);
    await (await chooser).setFiles({ name: "pixel.png", mimeType: "image/png", buffer: PIXEL });
    await page.waitForFunction("window.goOn");
    await page.getByRole("textbox", { name: "Message" }).fill("Second");
    const send = page.getByRole("button", { name: "Send", exact: true });
    expect(await send.isDisabled()).toBe(true);
    await page.evaluate("goOn()");
    const attached = page.getByRole("list", { name: "Attached files" });
    await attached.getByAltText("pixel.png").waitFor();
    await say(page, "Second");
    await charged(turns.nth(1));
    await say(page, "Third");
    await charged(turns.nth(2));
    await chooseModel(page, "Plain");
    const sayAgain = async (at: number): Promise<void> => {
      await turns.nth(at).getByRole("button", { name: "Edit and send again" }).click();
      await page.getByLabel("Edited message").fill("Anew");
      await page.getByRole("button", { name: "Send again", exact: true }).click();
    };
    await sayAgain(1);
    await page.getByRole("alert").getByText("Plain does not accept images").waitFor();
    expect(await turns.count()).toBe(3);
    await sayAgain(0);
    await answerOf(page, "Plain").getByText("You said: Anew").waitFor();
    expect(await turns.count()).toBe(1);
    expect(complaints).toEqual([]);
  });

  test("keeps a conversation over a reload in this browser, and nowhere else", async () => {
    const { page, complaints } = await chatter("history");
    await chooseModel(page, "Plain");
    const sentTo = new Set<string>();
    const secret = "heliotrope";
    page.on("request", (request) => {
      if (`${request.url()}${request.postData() ?? ""}`.includes(secret)) {
        sentTo.add(new URL(request.url()).pathname);
      }
    });
    await say(page, `Remember ${secret}`);
    await charged(answerOf(page, "Plain"));
    await until("the browser has kept the answer", () => isKept(page, `You said: Remember`));
    await page.reload();
    // After the reload, the page shows the conversation again by itself.
    await answerOf(page, "Plain").getByText(`You said: Remember ${secret}`).waitFor();
    await page.getByRole("button", { name: "New conversation" }).click();
    await answerOf(page, "Plain").waitFor({ state: "detached" });
    await page.getByRole("button", { name: "History" }).click();
    const drawer = page.getByRole("dialog", { name: "Conversations in this browser" });
    await drawer.getByRole("button", { name: new RegExp(`^Remember ${secret}`) }).click();
    await answerOf(page, "Plain").getByText(`You said: Remember ${secret}`).waitFor();

    expect([...sentTo]).toEqual(["/playground/v1/chat/completions"]);
    expect(await everyStoredText(fixture.gateway.config.databaseUrl)).not.toContain(secret);
    expect(fixture.gateway.log()).not.toContain(secret);
    expect(complaints).toEqual([]);
  });

  test("keeps the answer of a model that is no longer listed, and says why no other can come", async () => {
    const { page, complaints } = await chatter("unlisted");
    await chooseModel(page, "Plain");
    await say(page, "Stay");
    await charged(answerOf(page, "Plain"));
    await until("the browser has kept the answer", () => isKept(page, "You said: Stay"));
    await page.route("**/api/catalog.json*", async (route) => {
      const response = await route.fetch();
      const catalog = (await response.json()) as { models: { id: string }[] };
      const models = catalog.models.filter(({ id }) => id !== "test/plain");
      await route.fulfill({ response, json: { ...catalog, models } });
    });
    await page.reload();
    await page.getByText("test/plain is no longer listed. Choose another model.").waitFor();
    await answerOf(page, "test/plain").getByText("You said: Stay").waitFor();
    expect(await page.getByRole("button", { name: "Regenerate" }).count()).toBe(0);
    expect(await page.getByRole("button", { name: "Edit and send again" }).isDisabled()).toBe(true);
    await chooseModel(page, "Rich");
    await page.getByRole("button", { name: "Edit and send again", disabled: false }).waitFor();
    expect(complaints).toEqual([]);
  });

  test("a conversation that is deleted while it is answered does not come back", async () => {
    const { page, complaints } = await chatter("deleted");
    await chooseModel(page, "Gated");
    await say(page, "Forget me [words:24]");
    const rest = await letThrough("Forget me", 5);
    await answerOf(page, "Gated")
      .getByText(/^word1\b/)
      .waitFor();
    await page.getByRole("button", { name: "History" }).click();
    await page.getByRole("button", { name: /^Delete the conversation Forget me/ }).click();
    await answerOf(page, "Gated").waitFor({ state: "detached" });
    rest.release();
    // A later record is stored after everything that the deletion had stored.
    await page.getByRole("button", { name: "Close conversations" }).click();
    await chooseModel(page, "Plain");
    await say(page, "Stay");
    await until("the browser has kept the answer", () => isKept(page, "You said: Stay"));
    expect(await isKept(page, "Forget me")).toBe(false);
    expect(complaints).toEqual([]);
  });

  test("of two tabs with one conversation keeps the answers of both", async () => {
    const { page, context } = await chatter("tabs");
    const saidTo = async (tab: Page, text: string): Promise<void> => {
      await say(tab, text);
      await tab.getByText(`You said: ${text}`).waitFor();
      await until("the browser has kept the answer", () => isKept(tab, `You said: ${text}`));
    };
    const open = async (tab: Page, title: string): Promise<Locator> => {
      await tab.getByRole("button", { name: "History" }).click();
      const drawer = tab.getByRole("dialog", { name: "Conversations in this browser" });
      const rows = drawer.getByRole("button", { name: new RegExp(`^${title}`) });
      await rows.first().waitFor();
      return rows;
    };
    await chooseModel(page, "Plain");
    await saidTo(page, "First");
    const other = await context.newPage();
    await other.goto(`${fixture.consoleUrl}/playground`);
    await (await open(other, "First")).click();
    await other.getByText("You said: First").waitFor();
    // Opening it in another tab has changed nothing, so the first tab goes on with it.
    await saidTo(page, "Second");
    await saidTo(other, "Third");
    await saidTo(other, "Fourth");
    const shown = async (tab: Page): Promise<string> => {
      await tab.reload();
      await tab.getByText("You said: First").waitFor();
      return (await tab.getByText(/^You said: /).allInnerTexts()).join();
    };
    expect(await shown(page)).toBe("You said: First,You said: Second");
    expect(await shown(other)).toBe("You said: First,You said: Third,You said: Fourth");
    expect(await (await open(other, "First")).count()).toBe(2);
  });

  deepTest("sends tools, a response schema and routing, and a preset restores them", async () => {
    const { page, complaints } = await chatter("structures");
    await chooseModel(page, "Rich");
    await page.getByLabel("No reasoning").check();
    for (const section of ["Tools", "Response schema"]) {
      const opened = page.locator("details", { hasText: section });
      await opened.locator("summary").click();
      await opened.getByRole("button", { name: "Insert an example" }).click();
    }
    const routing = page.locator("details", { hasText: "Routing" });
    await routing.locator("summary").click();
    await routing.getByLabel("No fallbacks").check();
    await routing.getByRole("combobox", { name: "Only these providers" }).click();
    await page.getByRole("option", { name: "prov-a" }).click();

    const posted = page.waitForRequest((request) => request.method() === "POST");
    await say(page, "Please get_weather");
    expect((await posted).postDataJSON()).toMatchObject({
      provider: { only: ["prov-a"], allow_fallbacks: false },
    });
    const answer = answerOf(page, "Rich");
    await answer.getByText("Calls get_weather").waitFor();
    await answer.getByLabel("Result of get_weather").fill("12 degrees");
    await answer.getByRole("button", { name: "Send results" }).click();
    // The answer to the results follows the schema.
    await page.getByText("Tool result: 12 degrees").waitFor();
    await page.getByText('"summary":"sample summary"').waitFor();
    const [asked = ""] = sentBodies("Please get_weather");
    expect(JSON.parse(asked)).toMatchObject({
      reasoning_effort: "none",
      tools: [{ function: { name: "get_weather" } }],
      response_format: { type: "json_schema" },
    });

    await page.getByRole("button", { name: "Presets" }).click();
    const dialog = page.getByRole("dialog", { name: "Presets" });
    await dialog.getByLabel("Save these settings as").fill("Weather");
    await dialog.getByRole("button", { name: "Save preset" }).click();
    const preset = dialog.getByRole("button", { name: /^Weather/ });
    await preset.waitFor();
    await expectAccessible(page, "presets");
    const chosen = page.getByRole("combobox", { name: "Model" });
    await page.goto(`${fixture.consoleUrl}/playground?model=test%2Fplain`);
    await expect.poll(() => chosen.inputValue()).toBe("Plain");
    await page.getByRole("button", { name: "Presets" }).click();
    await preset.click();
    await page.getByText("Tools (set)").waitFor();
    await page.getByText("Routing (set)").waitFor();
    await expect.poll(() => chosen.inputValue()).toBe("Rich");
    expect(complaints).toEqual([]);
  });

  test("shows insufficient_quota for a message without credit, and links to billing", async () => {
    const { page, complaints } = await chatter("poor", null);
    await chooseModel(page, "Plain");
    await say(page, "Hello");
    const answer = answerOf(page, "Plain");
    await answer.getByText("No answer").waitFor();
    await answer.getByText("insufficient_quota", { exact: true }).waitFor();
    await answer.getByRole("link", { name: "Add credit" }).click();
    await page.waitForURL(/\/billing$/);
    expect(complaints).toEqual([]);
  });
});

describe.skipIf(!hasChromium)("the playground's images, videos and decisions", () => {
  async function maker(name: string, tab: string): Promise<Newcomer> {
    const visitor = await newcomer(fixture, browser, { name, usd: "20" });
    await visitor.page.goto(`${fixture.consoleUrl}/playground?tab=${tab}`);
    return visitor;
  }

  test("images are offered in the model's sizes and number, can be downloaded, and survive a reload", async () => {
    const { page, complaints, orgId } = await maker("images", "images");
    await page.getByRole("textbox", { name: "Prompt" }).waitFor();
    await expect.poll(() => optionsOf(page, "Size")).toEqual(["1024x1024", "1536x1024"]);
    await page.getByLabel("Size", { exact: true }).selectOption("1536x1024");
    await page.getByLabel("Quality").selectOption("low");
    // The field reduces a number above four to the maximum of four.
    const count = page.getByRole("spinbutton", { name: "Images" });
    await count.fill("9");
    await count.blur();
    await expect.poll(() => count.inputValue()).toBe("4");
    await count.fill("2");
    const prompt = "a lighthouse";
    await page.getByRole("textbox", { name: "Prompt" }).fill(prompt);
    await page.getByRole("button", { name: "Generate" }).click();

    const call = page.getByRole("article", { name: prompt });
    await call.getByAltText(`${prompt}, image 2`).waitFor();
    await expect.poll(() => call.getByRole("img").count()).toBe(2);
    await expect.poll(() => drawnWidths(page)).toEqual([true, true]);
    await call.getByText("served by painter").waitFor();
    await expectFits(page);
    const [sent = ""] = sentBodies(prompt);
    expect(JSON.parse(sent)).toMatchObject({ n: 2, size: "1536x1024", quality: "low" });

    const download = page.waitForEvent("download");
    await call.getByRole("link", { name: "Download image 1" }).click();
    expect((await download).suggestedFilename()).toMatch(/\.png$/);
    await expect.poll(() => shownCost(call)).toBe(await recordedCost(fixture, orgId, call));
    // A paid result is still shown after a reload, because this browser stores it.
    await page.reload();
    await call.getByAltText(`${prompt}, image 2`).waitFor();
    await expect.poll(() => drawnWidths(page)).toEqual([true, true]);
    expect(complaints).toEqual([]);
  });

  test("a video job is followed to its end, its file streams and downloads, and it is charged", async () => {
    const { page, complaints, orgId } = await maker("video", "videos");
    await page.getByRole("textbox", { name: "Prompt" }).waitFor();
    await page.getByLabel("Seconds").fill("3");
    const prompt = `a ship at sea ${VIDEO_FAULT}`;
    await page.getByRole("textbox", { name: "Prompt" }).fill(prompt);
    await page.getByRole("button", { name: "Generate" }).click();
    const job = page.getByRole("article", { name: prompt });
    await job.getByText("Queued").waitFor();
    // The poll names its organization. Otherwise it would answer 404 after a switch of the
    // organization in another tab, and the job would be lost.
    const poll = await page.waitForRequest((each) => /\/videos\/[^/]+$/.test(each.url()));
    expect([poll.method(), await poll.headerValue("x-tm-org")]).toEqual(["GET", orgId]);
    clock.forward(3 * STATE_MS);
    // The job continues when its page is closed, and a reload lists it again.
    await page.reload();
    await job.getByText("Completed").waitFor();
    await job.getByText("cost $0.30").waitFor();
    await page.getByRole("link", { name: "Balance: $19.70 available" }).waitFor();
    const address = await job.locator("video").getAttribute("src");
    const file = await page.request.get(new URL(address ?? "", fixture.consoleUrl).href, {
      headers: { range: "bytes=0-99" },
    });
    expect([file.status(), file.headers()["content-type"]]).toEqual([206, "video/mp4"]);
    expect((await file.body()).length).toBe(100);
    const download = page.waitForEvent("download");
    await job.getByRole("link", { name: "Download" }).click();
    expect((await download).suggestedFilename()).toMatch(/^vid.*\.mp4$/);
    expect(complaints).toEqual([]);
  });

  test("a decision is asked in fields and answered with typed values", async () => {
    const { page, complaints, orgId } = await maker("decisions", "decisions");
    const state = page.getByLabel("What the questions are about");
    await state.waitFor();
    await state.fill(JSON.stringify({ subject: "The shop is down", plan: "pro" }));
    await page.getByRole("button", { name: "Ask" }).click();
    const answers = page.getByRole("table", { name: "Answers" });
    await answers.getByRole("row", { name: /^urgent (?:true|false) noul (?:yes|no) \d/ }).waitFor();
    await answers.getByRole("row", { name: /^team "shop" choice shop 9/ }).waitFor();
    await expectFits(page);
    const panel = page.locator("section", { has: answers });
    await expect.poll(() => shownCost(panel)).toBe(await recordedCost(fixture, orgId, panel));
    await page.getByRole("button", { name: "Get code" }).click();
    await page.getByText(`${fixture.gateway.url}/v1/decisions`).waitFor();
    await expectAccessible(page, "the code of a decision");
    expect(complaints).toEqual([]);
  });
});

describe.skipIf(!hasChromium)("an optimize search", () => {
  test("runs from the form to a table that ranks the models, and no prompt is stored on the server", async () => {
    const { page, orgId, complaints } = await newcomer(fixture, browser, {
      name: "search",
      usd: "10",
    });
    await page.goto(`${fixture.consoleUrl}/optimize`);
    await page.getByRole("button", { name: "Start search" }).click();
    await page.getByText("Give the search a name.").waitFor();
    await page.getByText("Choose at least two models to compare.").waitFor();
    await expectAccessible(page, "a form with everything wrong");

    const secret = "heliotrope";
    const name = "First look";
    await page.getByRole("textbox", { name: "Name", exact: true }).fill(name);
    await page.getByRole("textbox", { name: "Prompts" }).fill(`${secret} one\ntwo\nthree`);
    for (const model of ["Cheap", "Dear"]) {
      await page.getByRole("combobox", { name: "Models" }).click();
      await page.getByRole("option", { name: model }).click();
    }
    await page.keyboard.press("Escape");
    await page.getByLabel("Max output tokens").fill("16");
    await page.getByLabel("Budget, dollars").fill("5.00");
    await page
      .getByText(/^6 calls, at least \d+ seconds?\. Estimated cost: at most \$\d/)
      .waitFor();
    await page.getByText(/The budget of \$5\.0+ covers all calls/).waitFor();
    await page.getByRole("button", { name: "Start search" }).click();
    await page.waitForURL(/\/optimize\/search_/);
    await page.getByRole("heading", { name, level: 1 }).waitFor();
    await page.getByText("Finished", { exact: true }).waitFor();
    const table = page.getByRole("table", { name: "Results by model" });
    const rows = table.getByRole("row");
    await table.getByRole("row", { name: /^1 test\/cheap 3 of 3 / }).waitFor();
    await table.getByRole("row", { name: /^2 test\/dear 3 of 3 / }).waitFor();
    await expect.poll(() => rows.count()).toBe(3);
    await page.getByRole("link", { name: "Balance: $9.97 available" }).waitFor();
    const answers = page.getByRole("table", { name: "Answers by prompt and model" });
    await answers.getByLabel("Prompt 1", { exact: true }).getByText(`1. ${secret} one`).waitFor();
    await answers.getByLabel("Prompt 1, answer of test/dear").getByText(secret).waitFor();
    await expectFits(page);
    const saving = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download CSV" }).click();
    const csv = await readFile(await (await saving).path(), "utf8");
    expect(csv.split("\r\n")).toHaveLength(8);
    expect(csv).toContain(`1,${secret} one,test/cheap,yes,`);
    // Only this browser has the answers, and it still has them after a reload.
    await page.reload();
    await answers.getByLabel("Prompt 1, answer of test/dear").getByText(secret).waitFor();

    // The organization's requests show the search's name and never its key.
    const requests = await ask(fixture, page, "GET /api/console/requests");
    expect(JSON.stringify(requests.json)).toContain(`Optimize search ${name}`);
    const keys = await ask(fixture, page, "GET /api/console/keys");
    expect(JSON.stringify(keys.json)).not.toContain(name);
    expect(await everyStoredText(fixture.gateway.config.databaseUrl)).not.toContain(secret);
    await page.goto(`${fixture.consoleUrl}/optimize`);
    await page.getByRole("link", { name }).waitFor();
    const note = page.getByText("The newest 200 are listed.");
    expect(await note.count()).toBe(0);
    await copySearches(orgId, 200);
    await page.reload();
    await note.waitFor();
    const searches = await ask(fixture, page, "GET /api/console/optimize");
    expect(listAt(searches.json, "data")).toHaveLength(200);
    await page.goBack();
    await page.getByRole("link", { name: "Try it in the playground" }).click();
    await page.waitForURL(/\/playground\?/);
    await page.getByRole("combobox", { name: "Model" }).waitFor();
    await expect
      .poll(() => page.getByRole("combobox", { name: "Model" }).inputValue())
      .toBe("Cheap");
    expect(complaints).toEqual([]);
  });
});

/** Adds copies of an organization's only search, each with a key of its own. */
async function copySearches(orgId: string, copies: number): Promise<void> {
  await runSql(
    fixture.gateway,
    `with known as (select s, k from optimize_search s join api_key k using (key_id)
       where s.org_id = $1),
     keys as (insert into api_key select (jsonb_populate_record(k, jsonb_build_object(
         'key_id', 'key_copy' || n, 'digest', '\\x' || encode(sha256(n::text::bytea), 'hex')))).*
       from known, generate_series(1, $2::int) n)
     insert into optimize_search select (jsonb_populate_record(s, jsonb_build_object(
         'search_id', 'search_copy' || n, 'key_id', 'key_copy' || n))).*
       from known, generate_series(1, $2::int) n`,
    [orgId, copies],
  );
}

/** Passes on the first events of the answer to this text; the call holds back the others. */
async function letThrough(words: string, events: number): Promise<GatedCall> {
  const call = await until("the provider is asked", () =>
    gate.calls.find(({ bodyText }) => bodyText.includes(words)),
  );
  call.release(events);
  return call;
}

async function say(page: Page, text: string): Promise<void> {
  await page.getByRole("textbox", { name: "Message" }).fill(text);
  await page.getByRole("button", { name: "Send", exact: true }).click();
}

function answerOf(page: Page, modelName: string): Locator {
  return page.getByRole("group", { name: `Answer of ${modelName}` });
}

/** Waits until the answer shows what it cost. */
async function charged(answer: Locator): Promise<void> {
  await answer.getByText(/^cost \$/).waitFor();
}

/** True if this browser's database contains the text. */
async function isKept(page: Page, words: string): Promise<boolean> {
  const kept = await page.evaluate<string>(`new Promise((resolve) => {
    const opening = indexedDB.open("tm-playground");
    opening.onsuccess = () => {
      const shelf = opening.result.transaction("conversations").objectStore("conversations");
      shelf.getAll().onsuccess = ({ target }) => {
        opening.result.close();
        resolve(JSON.stringify(target.result));
      };
    };
  })`);
  return kept.includes(words);
}

async function chooseModel(page: Page, name: string): Promise<void> {
  await page.getByRole("combobox", { name: "Model" }).click();
  await page.getByRole("option", { name: new RegExp(`^${name}`) }).click();
}

/** The bodies that reached the provider with this text. */
function sentBodies(words: string): readonly string[] {
  const bodies = fixture.gateway.simulator.calls().map(({ bodyText }) => bodyText);
  return bodies.filter((body) => body.includes(words));
}

/** The values of a select element, without the empty one that leaves the choice to the provider. */
async function optionsOf(page: Page, label: string): Promise<readonly string[]> {
  const values = await page
    .getByLabel(label, { exact: true })
    .locator("option")
    .evaluateAll((all) => all.map((each) => (each as { value?: string }).value ?? ""));
  return values.filter((each) => each !== "");
}

/** Tells for each picture of the gallery whether the browser drew it. */
async function drawnWidths(page: Page): Promise<readonly boolean[]> {
  return await page.evaluate<boolean[]>(
    "[...document.querySelectorAll('figure img')].map((img) => img.naturalWidth > 0)",
  );
}
