import { expect, test } from "vitest";

import { chatListing, observed, runOn } from "../../../../test/fixtures/conformance/stub-lab.ts";
import { Lab } from "../probing/lab.ts";
import type { Observation } from "../probing/observation.ts";
import { stability } from "./c12-stability.ts";

/** Runs C12 on a provider whose answers have these properties. */
async function findingOf(broken: Partial<Observation>) {
  let sent = 0;
  const lab = new Lab(chatListing(["text"]), async (probe) => {
    sent += 1;
    return { ...observed(probe), ...broken };
  });
  return { ...(await runOn(lab, stability)), sent };
}

test("C12 passes after ten answers that are whole and in time", async () => {
  expect(await findingOf({})).toMatchObject({ status: "pass", sent: 10 });
});

test("C12 fails after four streams that never end, instead of ten", async () => {
  const { status, message, sent } = await findingOf({ timedOut: true });
  expect({ status, message }).toEqual({
    status: "fail",
    message: "4 of 4 answers broke: it did not end in time",
  });
  expect(sent).toBe(4);
});

test("C12 fails connections that are closed in the middle of an answer, and says so", async () => {
  const { status, message } = await findingOf({ wasReset: true });
  expect(status).toBe("fail");
  expect(message).toBe("10 of 10 answers broke: the connection was closed in the answer");
});
