import { Stripe } from "stripe";
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

function client(secretKey: string): Stripe {
  const { hostname, port } = new URL(fixture.checkout.url);
  const options = { host: hostname, port, protocol: "http", maxNetworkRetries: 0 } as const;
  return new Stripe(secretKey, options);
}

describe("the page of the test checkout", () => {
  test("names the amount and the test money, and runs no script", async () => {
    const answer = await fetch(bought.checkoutUrl);
    const html = await answer.text();
    expect(answer.status).toBe(200);
    expect(html).toContain("<strong>Test money:</strong>");
    expect(html).toContain("$12.00 USD");
    expect(html).toContain("Pay with test money");
    expect(html).not.toContain("<script");
    expect(html).toContain("color-scheme: light dark");
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

  test("is a 404 for an unknown checkout", async () => {
    const answer = await fetch(`${fixture.checkout.url}/pay/cs_test_nothing`);
    expect(answer.status).toBe(404);
    expect(await answer.text()).toContain("Start another one in the console");
  });
});

describe("the API of the test checkout", () => {
  test("refuses any secret key but its own", async () => {
    const stranger = client("sk_test_somebody");
    await expect(stranger.checkout.sessions.retrieve(bought.session.id)).rejects.toMatchObject({
      statusCode: 401,
    });
  });

  test("returns one checkout per idempotency key, and refuses other parameters with it", async () => {
    const stripe = client(fixture.checkout.secretKey);
    const create = (amount: number): Promise<Stripe.Checkout.Session> =>
      stripe.checkout.sessions.create(
        {
          mode: "payment",
          line_items: [
            {
              quantity: 1,
              price_data: {
                currency: "usd",
                unit_amount: amount,
                product_data: { name: "credit" },
              },
            },
          ],
          success_url: "http://127.0.0.1/",
          cancel_url: "http://127.0.0.1/",
        },
        { idempotencyKey: "one" },
      );
    const first = await create(500);
    expect((await create(500)).id).toBe(first.id);
    await expect(create(600)).rejects.toMatchObject({ rawType: "idempotency_error" });
  });

  test("refunds at most what was paid, and lists refunds page by page", async () => {
    const stripe = client(fixture.checkout.secretKey);
    const { session } = await fixture.buy(bought.orgId, 200);
    const payment = fixture.checkout.book.pay(session);
    for (let i = 0; i < 130; i++) {
      await stripe.refunds.create({ payment_intent: payment.id, amount: 100 });
    }
    const tooMuch = stripe.refunds.create({ payment_intent: payment.id, amount: 7_001 });
    await expect(tooMuch).rejects.toMatchObject({ statusCode: 400, param: "amount" });
    let listed = 0;
    for await (const refund of stripe.refunds.list({ limit: 100 })) {
      expect(refund.payment_intent).toBe(payment.id);
      listed += 1;
    }
    expect(listed).toBe(130);
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
