export * from "./simulator/simulator.ts";
export * from "./test-checkout/start-test-checkout.ts";
