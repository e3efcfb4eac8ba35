import { expect, test } from "vitest";

import { countryName } from "../../ui/country-name.ts";
import {
  capacityLabel,
  leavingLabel,
  loggingLabel,
  parameterLabel,
  shortTokens,
} from "./model-labels.ts";

test("a parameter is labelled with its range or values, unit and default", () => {
  const words = [
    parameterLabel("temperature", { type: "range", min: 0, max: 2, default: 1 }),
    parameterLabel("max_tokens", { type: "integer", min: 1, max: 32768, unit: "tokens" }),
    parameterLabel("seed", { type: "integer" }),
    parameterLabel("size", { type: "enum", values: ["1K", "2K"], default: "1K" }),
    parameterLabel("tools", { type: "boolean" }),
  ];
  expect(words).toEqual([
    "temperature 0 to 2, default 1",
    "max_tokens 1 to 32,768 tokens",
    "seed",
    "size: 1K, 2K, default 1K",
    "tools",
  ]);
});

test("an undeclared capacity is not shown as zero", () => {
  expect(capacityLabel([])).toBe("Not declared");
  expect(capacityLabel([{ type: "prompt", per: "hour", value: 1_000_000 }])).toBe(
    "1,000,000 input tokens per hour",
  );
});

test("countries have names, and unknown codes stay codes", () => {
  expect([countryName("DE"), countryName("ZZ9")]).toEqual(["Germany", "ZZ9"]);
});

test("prompt logging is labelled as none, some or all providers", () => {
  const none = { prompt_logging: "none" } as const;
  const retained = { prompt_logging: "retained" } as const;
  expect(loggingLabel([none]).word).toBe("No prompt logging");
  expect(loggingLabel([none, retained]).word).toBe("Some providers retain prompts");
  expect(loggingLabel([retained])).toEqual({ word: "Prompts retained", tone: "warn" });
});

test("a withdrawal date is shown until its day has passed", () => {
  const now = Date.UTC(2026, 10, 22, 12);
  expect(leavingLabel("2027-01-03", now)).toBe("Leaves on 3 Jan 2027");
  expect(leavingLabel("2026-11-22", now)).toBe("Leaves on 22 Nov 2026");
  expect(leavingLabel("2026-11-21", now)).toBeUndefined();
  expect(leavingLabel(null, now)).toBeUndefined();
});

test("token counts are shortened", () => {
  expect([128_000, 1_000_000, null].map(shortTokens)).toEqual(["128K", "1M", "–"]);
});
