import { beforeEach, describe, expect, test } from "vitest";

import { openLogFile, openLogging, type Logging } from "./logging.ts";

let written: string[];
let logging: Logging;

beforeEach(() => {
  // The logger of an earlier test may still write, so each test has its own array.
  const own: string[] = [];
  written = own;
  logging = openLogging({
    level: "info",
    secrets: ["s3cret-plain", 's3cret"quoted\\'],
    output: { write: (text) => own.push(text) },
  });
});

/** Splits the output like a reader that ends a line at every Unicode line break. */
function writtenLines(): unknown[] {
  logging.flush();
  const text = written.join("");
  expect(text.endsWith("\n")).toBe(true);
  const lines = text.slice(0, -1).split(/\r\n|[\n\v\f\r\u0085\u2028\u2029]/u);
  return lines.map((line) => JSON.parse(line) as unknown);
}

describe("each message is one line of JSON", () => {
  // A complete log line, which a client tries to forge.
  const forged = '{"level":30,"msg":"ready"}';

  test.each([
    ["line feeds", `first\n${forged}\nlast`],
    ["carriage returns", `first\r\n${forged}\rlast`],
    ["a line separator", `first\u2028${forged}\u2028last`],
    ["a paragraph separator", `first\u2029${forged}\u2029last`],
    ["a next line", `first\u0085${forged}\u0085last`],
    ["other control characters", "\0\u0001\b\t\v\f\u001b[2J\u007f\u009f"],
    ["quotes and backslashes", '"}\\"\\\n{"'],
    ["half a character", "\ud800 and \udfff"],
  ])("with %s in it, as text and as a value", (_what, text) => {
    logging.log.info({ value: text, [text]: 1 }, text);
    logging.log.info("next");
    const [line, next] = writtenLines();
    const kept = text.toWellFormed();
    expect(line).toMatchObject({ msg: kept, value: kept, level: 30, severity: "INFO" });
    expect(next).toMatchObject({ msg: "next" });
  });

  test("even for an error with its stack, its cause and its own fields", () => {
    const cause = new Error("the cause\nof it");
    const error = Object.assign(new Error("broken\u2028\ntwice", { cause }), { detail: "a\nb" });
    logging.log.error({ err: error }, "a request failed unexpectedly");
    const [line, ...others] = writtenLines();
    expect(others).toEqual([]);
    expect(line).toMatchObject({ msg: "a request failed unexpectedly", err: { detail: "a\nb" } });
    const stack = (line as { err: { stack: string } }).err.stack;
    expect(stack).toContain("broken\u2028\ntwice");
    expect(stack).toContain("at ");
    expect(stack).toContain("the cause\nof it");
  });

  test("for many messages of any length, in the order in which they were logged", () => {
    const lengths = [0, 1, 4_095, 4_096, 4_097, 10_000];
    for (const length of lengths) logging.log.info({ length }, "\n".repeat(length));
    expect(writtenLines()).toMatchObject(lengths.map((length) => ({ length })));
  });
});

test("a line says how severe it is, as a number and by name", () => {
  logging.log.warn("a");
  logging.log.fatal("b");
  expect(writtenLines()).toMatchObject([
    { level: 40, severity: "WARN" },
    { level: 60, severity: "FATAL" },
  ]);
});

test("secrets are blanked out, and the line stays JSON", () => {
  logging.log.info({ a: 's3cret"quoted\\' }, "escaped");
  logging.log.info({ a: "with s3cret-plain in it", b: `tm_vk_${"0a".repeat(24)}` }, "s3cret-plain");
  expect(writtenLines()).toMatchObject([
    { a: "[redacted]", msg: "escaped" },
    { a: "with [redacted] in it", b: "tm_vk_[redacted]", msg: "[redacted]" },
  ]);
});

describe("lines are written in batches", () => {
  test("two lines are written at once when the log is flushed", () => {
    logging.log.info("one");
    logging.log.info("two");
    expect(written).toEqual([]);
    logging.flush();
    logging.flush();
    expect(written).toHaveLength(1);
    expect(writtenLines()).toMatchObject([{ msg: "one" }, { msg: "two" }]);
  });

  test("a hundred lines do not wait for a flush", () => {
    for (let n = 0; n < 100; n += 1) logging.log.info({ n }, "a line of some length");
    expect(written.length).toBeGreaterThan(0);
  });

  test("a single line is written without a flush or further lines", async () => {
    logging.log.info("the last one");
    await expect.poll(() => written).toHaveLength(1);
  });
});

test("a rotated secret is redacted, and the old secret stays redacted", () => {
  logging.hide(["s3cret-next", 's3cret"second\\']);
  logging.log.info({ next: "s3cret-next", quoted: 's3cret"second\\' }, "s3cret-plain");
  const [line] = writtenLines();
  expect(line).toMatchObject({ msg: "[redacted]", next: "[redacted]", quoted: "[redacted]" });
});

test("a log on a full disk does not throw, however much is written", () => {
  const log = openLogging({ level: "info", secrets: [], output: openLogFile("/dev/full") });
  const text = "x".repeat(1024 * 1024);
  expect(() => {
    for (let n = 0; n < 20; n++) log.log.info(text);
    log.flush();
  }).not.toThrow();
});
