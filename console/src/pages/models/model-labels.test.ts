import { expect, test } from "vitest";

import { leavingLabel, loggingLabel } from "./model-labels.ts";

test("the prompt logging label says whether no, some or all providers retain prompts", () => {
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
