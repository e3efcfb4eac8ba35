import { expect, test } from "vitest";

import { chatListing, runOn, stubLab } from "../../../../test/fixtures/conformance/stub-lab.ts";
import { errorShape } from "./c08-error-shape.ts";

const ERROR = { error: { message: "no" } };

/** Runs C8 on a provider that answers the bad requests with these statuses, in this order. */
async function findingOf(statuses: readonly number[]) {
  const left = [...statuses];
  const lab = stubLab(chatListing(["text"]), () => ({ status: left.shift() ?? 400, body: ERROR }));
  return await runOn(lab, errorShape);
}

test("C8 passes a provider that refuses bad requests with JSON errors", async () => {
  expect(await findingOf([400, 404, 404, 422])).toMatchObject({ status: "pass" });
});

test("a failed C8 lists the status that each bad request got", async () => {
  expect(await findingOf([500, 200, 404, 400])).toEqual({
    status: "fail",
    message: "invalid JSON: answered with 500, as if the server broke",
    evidence: {
      probe: "invalid JSON",
      status: 500,
      answers: [
        "invalid JSON: 500",
        "unknown model: 200",
        "unknown model, stream: 404",
        "temperature 99: 400",
      ],
    },
  });
});
