export { CLIENT_TIMEOUTS } from "./client-timeouts.ts";
export { drainingResponse } from "./draining.ts";
export { gatewayRoutes } from "./gateway-routes.ts";
export {
  createGatewayServer,
  type GatewayServerOptions,
  serveKnownCaller,
} from "./gateway-server.ts";
export { createInternalServer } from "./internal-server.ts";
export { INSTANCE_STATES, type InstanceState, Readiness } from "./readiness.ts";
export { RequestLog } from "./request-log.ts";
export { UnreadAnswers } from "./unread-answers.ts";
