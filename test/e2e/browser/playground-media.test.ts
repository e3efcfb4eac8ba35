import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";

import { startSimulator } from "../../../src/dev/simulator/simulator.ts";
import { expectAccessible, expectFits, hasChromium, withBrowser } from "../../support/browser.ts";
import { newcomer, type Newcomer, shownCost, recordedCost } from "../../support/console-steps.ts";
import { withConsole } from "../../support/console-fixture.ts";
import { decisionManifest, decisionModel } from "../../support/decisions.ts";
import { withResource } from "../../support/with-resource.ts";
import { ShiftedClock } from "../../support/oidc-console.ts";
import { imageManifest, imageModel } from "../../support/image-models.ts";
import { videoManifest, videoModel } from "../../support/video-host.ts";

/** A job has each state for this time by the clock of its host, which only a test puts forward. */
const STATE_MS = 60_000;
const VIDEO_FAULT = `[[fault:job:{"ms":${STATE_MS}}]]`;

const clock = new ShiftedClock();
const films = withResource(() => startSimulator({ port: 0, host: "127.0.0.1", clock }));

const manifests = (): readonly object[] => [
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
    models: [videoModel("test/video", { display_name: "Filmer", ...videoParameters() })],
  }),
  decisionManifest({
    provider: "judges",
    host: "sys",
    models: [decisionModel("test/decide", { display_name: "Judge", decisions_wire: "systemone" })],
  }),
];

const fixture = withConsole(() => ({ manifests: manifests(), settings: { videoPollMinMs: 1 } }));
const browser = withBrowser();

describe.skipIf(!hasChromium)("the playground's images, videos and decisions", () => {
  async function maker(name: string, tab: string): Promise<Newcomer> {
    const visitor = await newcomer(fixture, browser, { name, theme: "dark", usd: "20" });
    await visitor.page.goto(`${fixture.consoleUrl}/playground?tab=${tab}`);
    return visitor;
  }

  test("images: their number and size are those of the model, and each can be downloaded", async () => {
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
    const sent = fixture.gateway.simulator.calls().findLast((each) => bodyHas(each, prompt));
    expect(sent?.body).toMatchObject({ n: 2, size: "1536x1024", quality: "low" });

    const download = page.waitForEvent("download");
    await call.getByRole("link", { name: "Download image 1" }).click();
    expect((await download).suggestedFilename()).toMatch(/\.png$/);
    await expect.poll(() => shownCost(call)).toBe(await recordedCost(fixture, orgId, call));
    // A paid result survives a reload, from this browser's storage.
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
    // Without it, a switch of the organization in another tab would make the job a 404, and so lost.
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

/** The parameters of the simulated host. */
function videoParameters(): object {
  return {
    supported_parameters: {
      seconds: { type: "integer", min: 1, max: 12, default: 4, unit: "s" },
      size: { type: "enum", values: ["1280x720", "720x1280"] },
    },
  };
}

/** The values of a select, without the one that leaves the choice to the provider. */
async function optionsOf(page: Page, label: string): Promise<readonly string[]> {
  const values = await page
    .getByLabel(label, { exact: true })
    .locator("option")
    .evaluateAll((all) => all.map((each) => (each as { value?: string }).value ?? ""));
  return values.filter((each) => each !== "");
}

/** Did the browser draw each picture of the gallery? */
async function drawnWidths(page: Page): Promise<readonly boolean[]> {
  return await page.evaluate<boolean[]>(
    "[...document.querySelectorAll('figure img')].map((img) => img.naturalWidth > 0)",
  );
}

function bodyHas({ bodyText }: { readonly bodyText: string }, words: string): boolean {
  return bodyText.includes(words);
}
