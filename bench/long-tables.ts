import type { BrowserContext, Page } from "playwright-core";

import { buildKey } from "../console/src/pages/keys/sample-keys.test-data.ts";
import { buildModel } from "../console/src/pages/models/sample-models.test-data.ts";
import type {
  AnswerOf,
  Catalog,
  Key,
  KeyList,
  RequestRow,
} from "../src/account/console-api/contract.ts";

const TABLE_ROWS = 1_000;

export interface Interaction {
  readonly what: string;
  readonly medianMs: number;
  readonly longestMs: number;
}

/** Collects Event Timing entries: the time from a key or click to the frame with its effect. */
const NOTE_EVENTS = `globalThis.noted = [];
new PerformanceObserver((list) => {
  for (const each of list.getEntries()) if (each.interactionId) globalThis.noted.push(each);
}).observe({ type: "event", durationThreshold: 16, buffered: true });`;

type Act = readonly [what: string, act: (page: Page) => Promise<void>];

export async function useLongTables(
  context: BrowserContext,
  origin: string,
): Promise<readonly Interaction[]> {
  const search = (text: string): Act => ["a key in the search", (page) => typeAndErase(page, text)];
  const sort = (...columns: string[]): Act => ["sorting", (page) => sortBy(page, columns)];
  const select: Act = [
    "selecting one, and all",
    (page) => tickEach(page, ["Select worker 0", "Select worker 1", /^Select all/, /^Select all/]),
  ];
  const tables: readonly (readonly [string, string, string | RegExp, object, readonly Act[]])[] = [
    ["cards of models", "/models", "**/api/catalog.json", catalog(), [search("model-99")]],
    [
      "table of models",
      "/models?view=table&rows=all",
      "**/api/catalog.json",
      catalog(),
      [search("model-99"), sort("Model", "Context")],
    ],
    [
      "keys",
      "/keys?rows=all",
      /\/api\/console\/keys$/,
      keyList(),
      [search("worker 99"), select, sort("Name and key", "Spent this month")],
    ],
    [
      "log of requests",
      "/usage",
      /\/api\/console\/requests(\?|$)/,
      requestList(),
      [sort("Cost", "Duration")],
    ],
  ];
  const done: Interaction[] = [];
  for (const [table, path, route, json, acts] of tables) {
    const page = await openWith(context, origin + path, route, json);
    for (const [what, act] of acts) done.push(await noted(page, `${table}: ${what}`, act));
    await page.close();
  }
  return done;
}

async function openWith(
  context: BrowserContext,
  address: string,
  route: string | RegExp,
  json: object,
): Promise<Page> {
  const page = await context.newPage();
  await page.route(route, (asked) => asked.fulfill({ json }));
  await page.addInitScript(NOTE_EVENTS);
  await page.goto(address, { waitUntil: "networkidle" });
  return page;
}

async function typeAndErase(page: Page, text: string): Promise<void> {
  await page.getByRole("searchbox").first().click();
  await page.keyboard.type(text, { delay: 120 });
  for (let times = 0; times < text.length; times += 1) {
    await page.keyboard.press("Backspace", { delay: 60 });
    await page.waitForTimeout(100);
  }
}

/** Sorts each column twice: in one direction, then in the other. */
async function sortBy(page: Page, columns: readonly string[]): Promise<void> {
  for (const name of columns.flatMap((column) => [column, column])) {
    await page.locator("thead").getByRole("button", { name, exact: true }).last().click();
    await page.waitForTimeout(300);
  }
}

async function tickEach(page: Page, labels: readonly (string | RegExp)[]): Promise<void> {
  for (const label of labels) {
    await page.getByRole("checkbox", { name: label, exact: true }).last().click();
    await page.waitForTimeout(300);
  }
}

async function noted(page: Page, what: string, act: Act[1]): Promise<Interaction> {
  await page.evaluate("globalThis.noted.length = 0");
  await act(page);
  await page.waitForTimeout(300);
  const all = await page.evaluate<number[]>("globalThis.noted.map(({ duration }) => duration)");
  const sorted = all.toSorted((a, b) => a - b);
  // The browser reports no interaction that took less than 16 ms, so 16 stands for all of these.
  const medianMs = sorted[sorted.length >> 1] ?? 16;
  return { what, medianMs, longestMs: sorted.at(-1) ?? 16 };
}

function rowsOf<T>(row: (at: number) => T): T[] {
  return Array.from({ length: TABLE_ROWS }, (_none, at) => row(at));
}

function catalog(): Catalog {
  return {
    models: rowsOf((at) => buildModel({ id: `lab-${at % 20}/model-${at}`, name: `Model ${at}` })),
  };
}

function instantOf(at: number): string {
  return new Date(Date.UTC(2026, 0, 1) - at * 60_000).toISOString();
}

function idOf(at: number): string {
  return `0193a5b0-1234-7abc-9def-${at.toString(16).padStart(12, "0")}`;
}

function keyList(): KeyList {
  const key = (at: number): Key =>
    buildKey({
      key_id: idOf(at),
      name: `worker ${at}`,
      label: `tm_vk_${at.toString(16).padStart(6, "0")}`,
      created_at: instantOf(at),
      last_used_at: instantOf(at),
      rpm: 60,
      rpm_effective: 60,
      cap_usd: "20",
      spent_month_usd: String(at % 20),
      tags: [`team-${at % 5}`],
    });
  const reset = {
    cap_reset_at: instantOf(0),
    week_reset_at: instantOf(0),
    day_reset_at: instantOf(0),
  };
  return { data: rowsOf(key), ...reset, rpm_max: 300 };
}

function requestList(): AnswerOf<"GET /api/console/requests"> {
  const row = (at: number): RequestRow => ({
    request_id: idOf(at),
    created_at: instantOf(at),
    model: `lab-${at % 20}/model-${at % 100}`,
    key_id: idOf(at % 10),
    source: `worker ${at % 10}`,
    provider: `provider-${at % 5}`,
    route: "/v1/chat/completions",
    stream: at % 2 === 0,
    attempts: 1,
    status: "succeeded",
    outcome: "completed",
    error_class: null,
    tokens: { prompt: at, cached_prompt: 0, cache_write: 0, completion: 7, internal_reasoning: 0 },
    first_byte_ms: 200,
    duration_ms: 900 + at,
    cost_usd: "0.0012",
  });
  return { data: rowsOf(row), next_cursor: null };
}
