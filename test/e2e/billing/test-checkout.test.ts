import { beforeAll, describe, expect, test } from "vitest";
import {
  openBillingFixture,
  withBillingFixture,
  type Bought,
} from "../../support/billing-fixture.ts";

const fixture = withBillingFixture({ delivery: () => [] });
let bought: Bought;

beforeAll(async () => {
  bought = await fixture.buy(await fixture.newOrg(), 12);
});

describe("the page of the test checkout", () => {
  test("names the amount and the test money, and runs no script", async () => {
    const answer = await fetch(bought.checkoutUrl);
    const html = await answer.text();
    expect(answer.status).toBe(200);
    expect(html).toContain("<strong>Test money:</strong>");
    expect(html).toContain("$12.00 USD");
    expect(html).toContain("Pay with test money");
    expect(html).not.toContain("<script");
    const policy = answer.headers.get("content-security-policy");
    const home = new URL(bought.session.success_url).origin;
    expect(policy).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+'; img-src 'self' data:; font-src 'self'; form-action 'self' /,
    );
    expect(policy).toContain(home);
    expect(policy).not.toContain("unsafe");
    expect(answer.headers.get("cache-control")).toBe("no-store");
  });

  test("escapes what others wrote", async () => {
    const session = fixture.checkout.book.createSession({
      cents: 500,
      currency: "usd",
      orgId: null,
      email: '"><script>alert(1)</script>',
      metadata: {},
      paymentMetadata: {},
      successUrl: "http://127.0.0.1/",
      cancelUrl: "http://127.0.0.1/?a=%22%3E",
      expiresAtSeconds: 9_999_999_999,
    });
    const html = await (await fetch(`${fixture.checkout.url}/pay/${session.id}`)).text();
    expect(html).not.toContain("<script>");
    expect(html).toContain("&#60;script&#62;");
  });

  test("takes a payment once, and always leads back", async () => {
    const { checkoutUrl, session } = await fixture.buy(bought.orgId, 5);
    const press = async (): Promise<string | null> => {
      const answer = await fetch(`${checkoutUrl}/pay`, { method: "POST", redirect: "manual" });
      return answer.headers.get("location");
    };
    expect([await press(), await press()]).toEqual([session.success_url, session.success_url]);
    const paid = fixture.checkout.webhooks.events.filter(
      ({ data }) => data.object.id === session.id,
    );
    expect(paid).toHaveLength(1);
    const html = await (await fetch(checkoutUrl)).text();
    expect(html).toContain("This checkout is complete.");
    const payment = fixture.checkout.book.payments.get(session.payment_intent ?? "");
    const receipt = fixture.checkout.book.charges.get(payment?.latest_charge ?? "")?.receipt_url;
    expect(await (await fetch(receipt ?? "")).text()).toContain("$5.00 USD");
  });
});

test("an event that was not accepted is sent again until it is", async () => {
  const again = await openBillingFixture({ delivery: () => [0, 0] });
  const one = await again.buy(await again.newOrg(), 5);
  again.refuseEvents(2);
  again.checkout.book.pay(one.session);
  await again.checkout.webhooks.settled();
  expect(again.statuses).toEqual([500, 500, 200, 200]);
  expect((await again.purchase(one)).state).toBe("paid");
  expect(await again.balance(one.orgId)).toBe(5_000_000n);
  await again.close();
});
