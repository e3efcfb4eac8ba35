import { expect, test } from "vitest";

import type { OrgId, ProviderId } from "../kernel/core/ids.ts";
import { attemptClassifier, ownKeyFailure } from "./classifier.ts";

const plain = attemptClassifier({ nowMs: () => 0, monotonicMs: () => 0 });
const ownKey = {
  connectionId: "conn_1",
  orgId: "org_1" as OrgId,
  providerId: "acme" as ProviderId,
  sealedKey: Buffer.alloc(0),
};

test("a failure of the marketplace's own key is reported as it is", () => {
  const failure = plain.answer(answered(401));
  expect(ownKeyFailure(failure, {})).toBe(failure);
});

function answered(status: number) {
  return { status, headers: {}, body: Buffer.from('{"error":{"message":"no"}}') };
}

test.each([401, 402, 403])(
  "a provider's %i for a customer's key keeps its status and is reported to its owner",
  (status) => {
    const reported = ownKeyFailure(plain.answer(answered(status)), { ownKey });
    const { message, ...rest } = reported.refusal;
    const { message: marketplaceMessage, ...marketplaceCooldown } = plain.answer(
      answered(status),
    ).refusal;
    expect(rest).toEqual(marketplaceCooldown);
    expect(rest).toMatchObject({ class: "auth", status, upstreamStatus: status });
    expect(message).toContain(`your organization's own key with status ${status}`);
    expect(marketplaceMessage).toContain("marketplace's own account");
    expect(reported).toMatchObject({ failover: true, strike: "strike" });
  },
);

test.each([404, 429])("status %i for a customer's key is classified as usual", (status) => {
  for (const failure of [plain.answer(answered(status)), plain.timeout(status)]) {
    expect(ownKeyFailure(failure, { ownKey })).toBe(failure);
  }
});
