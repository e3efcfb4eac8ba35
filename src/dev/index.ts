export { type Simulator, startSimulator } from "./simulator/simulator.ts";
export { startTestCheckout } from "./test-checkout/start-test-checkout.ts";
