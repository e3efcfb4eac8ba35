import { describe, expect, test } from "vitest";
import * as fc from "fast-check";
import { AnswerReader } from "./answer-reader.ts";
import { chatBody } from "./chat-bodies.ts";
import { estimatedMinutes, warmedUp } from "./estimate.ts";
import { countersIn, innerFigures } from "./gateway-counters.ts";
import { CANNED_ANSWERS } from "./mock-answers.ts";
import { parseOptions } from "./options.ts";
import { withoutAddresses } from "./peer-reasons.ts";
import { performancePage } from "./performance-page.ts";
import { newestOfEachMajor, type BenchResults, type Figure } from "./results.ts";
import { markdownTables } from "./table.ts";
import { TARGET_IDS, type TargetId } from "./targets/target.ts";
import { isWarm, warmUpPlan } from "./warm-up.ts";
import { WORKS } from "./works.ts";

describe("the request bodies", () => {
  for (const wire of ["wire_a", "wire_b"] as const) {
    for (const bodyBytes of [1_024, 20_480, 204_800]) {
      test(`a ${wire} body of ${bodyBytes} bytes is that long and ends with a question`, () => {
        const body = chatBody({ wire, model: "m", bodyBytes, stream: true });
        const printed = JSON.parse(body) as { readonly messages: { readonly role: string }[] };
        expect(Math.abs(Buffer.byteLength(body) - bodyBytes)).toBeLessThan(100);
        expect(printed.messages.at(-1)?.role).toBe("user");
      });
    }
  }
});

describe("the bodies that hold more than text", () => {
  const wires = ["wire_a", "wire_b"] as const;
  for (const wire of wires) {
    const request = { wire, model: "m", stream: false };

    test(`a ${wire} body of tools is 50 KB long, and nearly all of it is tools`, () => {
      const body = chatBody({ ...request, kind: "tools", bodyBytes: 51_200 });
      const { tools } = JSON.parse(body) as { readonly tools: readonly object[] };
      expect(Buffer.byteLength(body)).toBe(51_200);
      expect(Buffer.byteLength(JSON.stringify(tools))).toBeGreaterThan(50_000);
    });

    test(`a ${wire} body with a picture of 2 MB is that long, and its picture is base64`, () => {
      const body = chatBody({ ...request, kind: "image", bodyBytes: 2_097_152 });
      const data = /iVBOR[A-Za-z0-9+/]*/.exec(body)?.[0] ?? "";
      expect(Math.abs(Buffer.byteLength(body) - 2_097_152)).toBeLessThan(10);
      expect(Buffer.from(data, "base64").toString("base64")).toBe(data);
      expect(JSON.parse(body)).toMatchObject({ model: "m" });
    });

    test(`a broken ${wire} body is as long as a good one and no JSON`, () => {
      const body = chatBody({ ...request, kind: "broken", bodyBytes: 1_024 });
      expect(Math.abs(Buffer.byteLength(body) - 1_024)).toBeLessThan(100);
      expect(() => JSON.parse(body) as unknown).toThrow("JSON");
    });
  }
});

describe("the answer reader", () => {
  for (const wire of ["wire_a", "wire_b"] as const) {
    const { json, streamOpening, streamEvent, streamClosing } = CANNED_ANSWERS[wire];

    test(`a ${wire} stream counts its events once, however its bytes are cut between them`, () => {
      const cut = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 5 });
      fc.assert(
        fc.property(cut, (groups) => {
          const reader = new AnswerReader();
          reader.feed(streamOpening);
          const before = reader.events;
          for (const size of groups) reader.feed(Buffer.concat(Array(size).fill(streamEvent)));
          expect(reader.events - before).toBe(groups.reduce((sum, size) => sum + size, 0));
          expect(reader.done).toBe(false);
          reader.feed(streamClosing);
          expect(reader.done).toBe(true);
        }),
      );
    });

    test(`a ${wire} answer is done at its last byte and not before, wherever it is cut`, () => {
      fc.assert(
        fc.property(fc.integer({ min: 1, max: json.length - 1 }), (at) => {
          const reader = new AnswerReader();
          reader.feed(json.subarray(0, at));
          expect(reader.done).toBe(false);
          reader.feed(json.subarray(at));
          expect(reader).toMatchObject({ done: true, status: 200, excerpt: "" });
        }),
      );
    });

    test(`a ${wire} stream event is about 290 bytes on the wire`, () => {
      expect(streamEvent.length).toBeGreaterThan(285);
      expect(streamEvent.length).toBeLessThan(305);
    });
  }
});

describe("the table of costs", () => {
  const cases = [
    { gateway: 89, floor: 50, database: 60, word: "stretch" },
    { gateway: 95, floor: 50, database: 60, word: "reach" },
    { gateway: 89, floor: 50, database: 70, word: "reach" },
    { gateway: 101, floor: 50, database: 60, word: "no" },
    { gateway: 89, floor: 50, database: 76, word: "no" },
    { gateway: 89, floor: undefined, database: 60, word: "?" },
  ];
  for (const { gateway, floor, database, word } of cases) {
    test(`gateway ${gateway}, floor ${floor ?? "absent"}, database ${database} is "${word}"`, () => {
      const floors = floor === undefined ? [] : [figure("floor", floor)];
      const results = run({ "1kb-same": [figure("gateway", gateway, database), ...floors] });
      expect(lastCells(results, "floor").at(-1)).toBe(word);
    });
  }

  test("a translated row is compared with the floor of the same request on one wire", () => {
    const results = run({
      "1kb-same": [figure("gateway", 100), figure("floor", 50)],
      "1kb-b-to-a": [figure("gateway", 105)],
    });
    expect(lastCells(results, "floor").at(-1)).toBe("reach");
  });

  for (const { cost, database, word } of [
    { cost: 60, database: 0, word: "stretch" },
    { cost: 60, database: 20, word: "reach" },
    { cost: 60, database: 30, word: "no" },
  ]) {
    test(`refused for ${cost} and ${database}, when served is 100 and 60, is "${word}"`, () => {
      const results = run({
        "1kb-same": [figure("gateway", 100, 60)],
        "refused-key": [figure("gateway", cost, database)],
      });
      expect(lastCells(results, "floor").at(-1)).toBe(word);
    });
  }
});

describe("the table of peers", () => {
  const gateway = figure("gateway", 100, 50);
  const cases = [
    { bifrost: 310, litellm: 4_000, nextBest: "2.07x", word: "stretch" },
    { bifrost: 290, litellm: 4_000, nextBest: "1.93x", word: "reach" },
    { bifrost: 140, litellm: 4_000, nextBest: "0.93x", word: "no" },
    { bifrost: undefined, litellm: 4_000, nextBest: "4.67x", word: "?" },
  ];
  for (const { bifrost, litellm, nextBest, word } of cases) {
    test(`gateway 150 beside Bifrost at ${bifrost ?? "nothing"} is "${word}"`, () => {
      const figures = [figure("portkey", 700), figure("litellm-full", litellm - 100, 100)];
      if (bifrost !== undefined) figures.push(figure("bifrost-full", bifrost));
      const results = run({ "1kb-same": [gateway, ...figures] });
      expect(lastCells(results, "peer").slice(-2)).toEqual([nextBest, word]);
    });
  }

  test("a library without its program is shown and decides nothing", () => {
    const figures = [figure("bifrost-core", 60), figure("portkey", 700), figure("litellm", 4_000)];
    const cells = lastCells(run({ "1kb-same": [gateway, ...figures] }), "peer");
    expect(cells).toContain("60.0 (0.40x)");
    expect(cells.slice(-2)).toEqual(["4.67x", "?"]);
    const alone = lastCells(run({ "1kb-same": [gateway, figure("bifrost-core", 60)] }), "peer");
    expect(alone.slice(-2)).toEqual(["-", "-"]);
  });

  test("a peer with all on is what counts, not what it costs bare", () => {
    const figures = [figure("bifrost", 60), figure("bifrost-full", 200)];
    const others = [figure("portkey", 700), figure("litellm", 4_000)];
    const results = run({ "1kb-same": [gateway, ...figures, ...others] });
    expect(lastCells(results, "peer").slice(-2)).toEqual(["1.33x", "reach"]);
  });
});

describe("the warm-up", () => {
  const first = warmUpPlan(40, true);
  /** So many windows are run when they cost this. */
  function windowsRun(costAt: (window: number) => number, plan = first): number {
    const costs: number[] = [];
    do costs.push(costAt(costs.length));
    while (!isWarm(costs, plan));
    return costs.length;
  }

  test("lasts as long as requests get cheaper, with spikes of a busy machine or without", () => {
    const compiled = (window: number): number => Math.max(80, 230 - window * 10);
    const spiky = (window: number): number => compiled(window) * (window % 3 === 0 ? 1.5 : 1);
    expect(windowsRun(compiled)).toBeGreaterThanOrEqual(16);
    expect(windowsRun(spiky)).toBeGreaterThanOrEqual(16);
    // It has cost the same for five windows, spikes or not.
    const soonCompiled = (window: number): number => Math.max(180, spiky(window));
    expect(windowsRun(soonCompiled)).toBeLessThan(16);
  });

  test("has a shortest time, and a longest one for what never gets steady", () => {
    expect(windowsRun(() => 100)).toBe(10);
    expect(windowsRun((window) => 1_000 * 0.9 ** window)).toBe(20);
    const later = warmUpPlan(40, false);
    expect(windowsRun(() => 100, later)).toBe(4);
    expect(windowsRun((window) => 1_000 * 0.9 ** window, later)).toBe(10);
  });

  test("is 20 to 40 seconds for a first row and 2 to 5 for a later one, as the page says", () => {
    const seconds = ({ windowMs, windowsMin, windowsMax }: typeof first): number[] =>
      [windowsMin, windowsMax].map((windows) => (windows * windowMs) / 1_000);
    expect(seconds(first)).toEqual([20, 40]);
    expect(seconds(warmUpPlan(40, false))).toEqual([2, 5]);
  });

  test("is given to every row of requests and of streams", () => {
    const kinds = WORKS.filter((work) => !warmedUp(WORKS).includes(work)).map(({ kind }) => kind);
    expect(kinds).toEqual(["latency", "memory"]);
  });
});

test("a run of every row on every candidate is expected to end before it is stopped", () => {
  const options = parseOptions([]);
  if (options === undefined) throw new Error("no options");
  const { least, most } = estimatedMinutes(
    options,
    TARGET_IDS.map((id) => ({ id })),
  );
  expect(least).toBeGreaterThan(10);
  expect(most).toBeLessThan(options.timeLimitMinutes);
  const [one, two] = [1, 2].map((rounds) =>
    estimatedMinutes({ ...options, rounds }, [{ id: "gateway" }]),
  );
  expect(two?.least).toBeGreaterThan(one?.least ?? Infinity);
});

describe("the gateway's own counters", () => {
  const text = `# HELP tm_ledger_rows_total x
tm_requests_total{route="chat",status="200",error="-"} 900
tm_requests_total{route="chat",status="400",error="bad_request"} 100
tm_ledger_batches_total{kind="batch"} 40
tm_ledger_batches_total{kind="late"} 60
tm_ledger_rows_total{kind="hold"} 900
tm_ledger_rows_total{kind="closing"} 1.1e3
nodejs_gc_duration_seconds_sum{kind="minor"} 0.5
nodejs_gc_duration_seconds_count{kind="minor"} 20
nodejs_gc_duration_seconds_bucket{le="0.1",kind="minor"} 20
`;

  test("series of one name are added, over labels and processes", () => {
    expect(countersIn(`${text}\n${text}`)).toEqual({
      requests: 2_000,
      batches: 200,
      rows: 4_000,
      collections: 40,
      collectionSeconds: 1,
    });
  });

  test("figures are of what happened between two readings", () => {
    const before = countersIn(text);
    const after = countersIn(`${text}\n${text}`);
    expect(innerFigures(before, after, 2_000)).toEqual({
      batchesPerThousand: 50,
      rowsPerBatch: 20,
      collectionsPerThousand: 10,
      collectionMsPerThousand: 250,
    });
    expect(innerFigures(before, before, 0)).toBeUndefined();
  });
});

test("the page says for how long each candidate was warmed up", () => {
  const targets = [
    { id: "gateway", version: "", warmedSeconds: 28 },
    { id: "nginx", version: "1.2", warmedSeconds: 12 },
  ] as const;
  const page = performancePage([{ ...run({ "1kb-same": [figure("gateway", 100)] }), targets }]);
  expect(page).toContain("first row: gateway 28, nginx 12.");
});

test("of each Node version the newest run is taken, the newest version first", () => {
  const names = [
    "2026-11-22-node24.2.0.json",
    "2026-11-21-node20.20.2.json",
    "2026-11-20-node24.9.0.json",
    "2026-11-22-node20.19.0.json",
    "notes.json",
  ];
  expect(newestOfEachMajor(names)).toEqual([names[0], names[3]]);
});

test("the page of figures has a part for each run, with its Node version", () => {
  const results = run({ "1kb-same": [figure("gateway", 100), figure("litellm", 900)] });
  const page = performancePage([{ ...results, node: "24.2.0" }, results]);
  expect(page).toMatch(/## Node 24\.2\.0[^]*900[^]*## Node 20\.0\.0[^]*900[^]*## What is measured/);
});

test("the reason for a missing peer names no address", () => {
  const said =
    "reading https://registry.example/x/@v/list: 403. getaddrinfo ENOTFOUND b.example end";
  expect(withoutAddresses(said)).toBe("reading (an address): 403. getaddrinfo ENOTFOUND end");
});

test("an option that names no row, no target or no number is refused by name", () => {
  expect(() => parseOptions(["--only", "nothing"])).toThrow("--only nothing");
  expect(() => parseOptions(["--targets", "apache"])).toThrow("apache");
  expect(() => parseOptions(["--rounds", "none"])).toThrow("--rounds");
});

function figure(target: TargetId, value: number, helpersMedian: number = 0): Figure {
  const rest = { helpersMedian, perSecondMedian: 0, p99Median: 0 };
  return { target, min: value, median: value, values: [value], ...rest };
}

/** The cells of the last row of the table whose title has this word. */
function lastCells(results: BenchResults, word: string): readonly string[] {
  const found = markdownTables(results).find(({ title }) => title.includes(word));
  const cells = found?.table.split("\n").at(-1)?.split("|").slice(1, -1) ?? [];
  return cells.map((cell) => cell.trim());
}

function run(rows: Readonly<Record<string, readonly Figure[]>>): BenchResults {
  return {
    format: 1,
    date: "2026-01-01",
    node: "20.0.0",
    machine: { cpu: "any", cores: 2, kernel: "any", loadAverageAtStart: 0 },
    command: "npm run bench",
    settings: {},
    targets: [],
    absent: [],
    rows: Object.entries(rows).map(([work, figures]) => ({ work, unit: "us/request", figures })),
  };
}
