import { createWriteStream, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";

import { expect, test } from "vitest";

import { newFolder } from "../../test/support/run-folder.ts";
import {
  type CommandIo,
  makeStopListener,
  readDay,
  readDurationMs,
  readInstant,
  readWhole,
  reportFault,
  UsageFault,
} from "./command-context.ts";

const folder = newFolder("files");

/** Returns the message of a command that cannot create this file. */
async function saidOf(path: string): Promise<string> {
  let said = "";
  const stderr = { write: (text: string) => (said += text) };
  await pipeline(["day"], createWriteStream(path, { flags: "wx" })).catch((fault: unknown) =>
    reportFault({ env: {}, stderr } as unknown as CommandIo, fault),
  );
  return said;
}

test("a Ctrl-C that npm passes on stops a server once, and a signal a second later ends it", () => {
  let nowMs = 5;
  const done: string[] = [];
  const stop = makeStopListener(
    () => done.push("stop"),
    () => done.push("end"),
    { monotonicMs: () => nowMs },
  );
  stop();
  nowMs += 999;
  stop();
  expect(done).toEqual(["stop"]);
  nowMs += 1;
  stop();
  expect(done).toEqual(["stop", "end"]);
});

test("a file that cannot be created is reported with the next step", async () => {
  const there = join(folder, "day.ndjson");
  writeFileSync(there, "");
  expect(await saidOf(there)).toBe(
    `tokenmarket: ${there}: is there already, and is not replaced; name another file\n`,
  );
  const nowhere = join(folder, "none", "day.ndjson");
  expect(await saidOf(nowhere)).toBe(
    `tokenmarket: ${nowhere}: there is no such file or folder; check the name\n`,
  );
});

const readRpm = (rpm: string) => readWhole({ rpm }, "rpm", { min: 1, max: 1_000_000_000 });
const readEvery = (every: string) => readDurationMs({ every }, "every", { min: "1h", max: "30d" });

test("whole numbers and durations within their range are read from flags", () => {
  expect(["1", "007", "1000000000"].map(readRpm)).toEqual([1, 7, 1_000_000_000]);
  expect(["60m", "30d"].map(readEvery)).toEqual([3_600_000, 2_592_000_000]);
});

test("a flag with a hyphen is read, and an absent flag sets nothing", () => {
  expect(readWhole({ queueMs: "0" }, "queue-ms", { min: 0, max: 5 })).toBe(0);
  expect(readWhole({}, "queue-ms", { min: 0, max: 5 })).toBeUndefined();
});

test.each(["0", "", "1.5", "1e3", "0x10", "1000000001", "ten"])(
  "%j is refused as a whole number, with the flag and the range",
  (text) => {
    expect(() => readRpm(text)).toThrow(UsageFault);
    expect(() => readRpm(text)).toThrow("--rpm must be a whole number from 1 to 1000000000, not");
  },
);

test.each(["59m", "31d", "7", "1.5d", "7w", ""])(
  "%j is refused as a duration, with the flag and the range",
  (text) => {
    expect(() => readEvery(text)).toThrow(UsageFault);
    expect(() => readEvery(text)).toThrow("--every must be from 1h to 30d");
  },
);

test("a day is its midnight in UTC, and a time of day is read with its zone", () => {
  expect(readInstant("2026-02-28", "--since")).toBe(Date.UTC(2026, 1, 28));
  expect(readInstant("2026-02-28T12:30+01:00", "--since")).toBe(Date.UTC(2026, 1, 28, 11, 30));
  expect(readDay("2028-02-29", "--before")).toBe("2028-02-29");
});

test.each(["2026-02-30", "2026-02-30T12:00Z", "2026-02-28T12:00", "2026-02-28T25:00Z", "today"])(
  "%s is refused as a day and as an instant",
  (text) => {
    expect(() => readInstant(text, "--since")).toThrow("--since must be a day or an instant");
    expect(() => readDay(text, "--before")).toThrow("--before must be a day");
  },
);
