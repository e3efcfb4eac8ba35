import { assert } from "../../src/kernel/core/assert.ts";
import { systemClock } from "../../src/kernel/core/time.ts";
import {
  startTestCheckout,
  type TestCheckout,
} from "../../src/dev/test-checkout/start-test-checkout.ts";
import { startTestGateway, type TestGateway, type TestGatewayOptions } from "./gateway.ts";
import { withResource } from "./with-resource.ts";

/** A whole installation as `dev` starts it: gateway, console, sign-in links, test checkout. */
export interface ConsoleFixture {
  readonly gateway: TestGateway;
  readonly consoleUrl: string;
  readonly checkout: TestCheckout;
  /** Returns a link that signs a browser in as this person, once. */
  claimLink(email: string): Promise<string>;
  close(): Promise<void>;
}

/**
 * Opens an installation before the tests of a file and closes it after them. Give options as a
 * function if they depend on what an earlier hook opened.
 */
export function withConsole(
  options: TestGatewayOptions | (() => TestGatewayOptions) = {},
): ConsoleFixture {
  return withResource(() =>
    openConsoleFixture(typeof options === "function" ? options() : options),
  );
}

async function openConsoleFixture(options: TestGatewayOptions = {}): Promise<ConsoleFixture> {
  let consoleUrl = "";
  const checkout = await startTestCheckout({
    host: "127.0.0.1",
    port: 0,
    webhookUrl: () => `${consoleUrl}/webhooks/stripe`,
    clock: systemClock,
  });
  const gateway = await startTestGateway({ testCheckout: checkout, ...options });
  ({ consoleUrl } = gateway.running);
  return {
    gateway,
    consoleUrl,
    checkout,
    claimLink: async (email) => {
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
