import { assert } from "../../src/kernel/core/assert.ts";
import { systemClock } from "../../src/kernel/core/time.ts";
import { startTestCheckout } from "../../src/dev/test-checkout/start-test-checkout.ts";
import { startTestGateway, type TestGatewayOptions } from "./gateway.ts";
import { withResource } from "./with-resource.ts";

/** A whole installation as `dev` starts it: gateway, console, sign-in links, test checkout. */
export type ConsoleFixture = Awaited<ReturnType<typeof openConsoleFixture>>;

/** Opens an installation for the tests of a file. A function gives options known only then. */
export function withConsole(options: TestGatewayOptions | (() => TestGatewayOptions) = {}) {
  return withResource(() =>
    openConsoleFixture(typeof options === "function" ? options() : options),
  );
}

async function openConsoleFixture(options: TestGatewayOptions) {
  let consoleUrl = "";
  const checkout = await startTestCheckout({
    webhookUrl: () => `${consoleUrl}/webhooks/stripe`,
    clock: systemClock,
  });
  const gateway = await startTestGateway({ testCheckout: checkout, ...options });
  ({ consoleUrl } = gateway.running);
  return {
    gateway,
    consoleUrl,
    checkout,
    /** Returns a link that signs a browser in as this person, once. */
    claimLink: async (email: string) => {
      const link = await gateway.running.makeClaimLink(email);
      assert(link !== undefined, "links sign people in here");
      return link;
    },
    close: async () => {
      await gateway.close();
      await checkout.close();
    },
  };
}
