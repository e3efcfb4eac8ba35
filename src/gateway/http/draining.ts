import { ServerResponse, type IncomingMessage } from "node:http";

/**
 * Responses that end their connections while the instance drains: one that is kept would carry
 * another request to a listener that is about to close.
 */
export function drainingResponse(isDraining: () => boolean): typeof ServerResponse {
  return class DrainingResponse<Request extends IncomingMessage> extends ServerResponse<Request> {
    override writeHead(...args: unknown[]): this {
      if (isDraining()) this.shouldKeepAlive = false;
      return super.writeHead(...(args as Parameters<ServerResponse["writeHead"]>));
    }
  };
}
