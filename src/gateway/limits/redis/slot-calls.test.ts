import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";

import { SlotCalls, STEPS_MAX, type SlotStep } from "./slot-calls.ts";

interface Sent {
  readonly script: string;
  readonly mark: string | undefined;
  readonly steps: string | undefined;
  answer(answers: unknown): void;
}

function recorded(): { readonly calls: SlotCalls; readonly sent: Sent[] } {
  const sent: Sent[] = [];
  const calls = new SlotCalls(
    (script, [mark], [, steps]) =>
      new Promise((answer) => sent.push({ script, mark, steps, answer })),
    () => "",
  );
  return { calls, sent };
}

function step(kind: SlotStep["kind"], name: string, heard: unknown[] = [], size = 1): SlotStep {
  const taken = (answer: unknown): void => void heard.push([name, answer]);
  return { kind, size, write: () => name, taken, failed: () => heard.push([name, "failed"]) };
}

test("the steps for a slot in one event-loop turn are one call, and each claim gets its own answer", async () => {
  const { calls, sent } = recorded();
  const heard: unknown[] = [];
  calls.ask("{a}", step("change", "end", heard));
  calls.ask("{a}", step("claim", "first", heard));
  calls.ask("{b}", step("change", "other"));
  await Promise.resolve();
  calls.ask("{a}", step("claim", "second", heard));
  await turn();
  expect(sent.map(({ script, mark, steps }) => ({ script, mark, steps }))).toEqual([
    { script: "claimLimits", mark: "tm:{a}", steps: "[[],[end,first,second]]" },
    { script: "handBackLimits", mark: "tm:{b}", steps: "[[],[other]]" },
  ]);
  sent[0]?.answer([[1], [0]]);
  await turn();
  expect(heard).toEqual([
    ["end", undefined],
    ["first", [1]],
    ["second", [0]],
  ]);
});

test("no call has more steps than its bound, and the order stays", async () => {
  const { calls, sent } = recorded();
  for (const size of [STEPS_MAX - 1, 2, 1]) calls.ask("{a}", step("change", `${size}`, [], size));
  await turn();
  expect(sent.map(({ steps }) => steps)).toEqual([`[[],[${STEPS_MAX - 1}]]`, "[[],[2,1]]"]);
});
