import { once } from "node:events";
import { createServer, type Server } from "node:net";

import { type Config, environmentName, Fault, SETTINGS } from "../kernel/index.ts";

export interface Listener {
  readonly name: string;
  readonly host: string;
  readonly port: number;
  readonly portSettings: readonly string[];
  readonly hostSettings: readonly string[];
}

/** Thrown if a port cannot be opened. The message names the setting to change. */
export class PortFault extends Fault {}

export function listListeners(
  config: Pick<Config, "host" | "internalHost" | "port" | "consolePort" | "internalPort">,
): Readonly<Record<"gateway" | "console" | "internal", Listener>> {
  const hostSettings = ["--host", environmentName(SETTINGS.host.path)];
  const listener = (
    name: string,
    flag: string,
    setting: "port" | "consolePort" | "internalPort",
  ): Listener => ({
    name,
    host: config.host,
    port: config[setting],
    portSettings: [flag, environmentName(SETTINGS[setting].path)],
    hostSettings,
  });
  return {
    gateway: listener("gateway", "--port", "port"),
    console: listener("console", "--console-port", "consolePort"),
    internal: {
      ...listener("internal", "--internal-port", "internalPort"),
      host: config.internalHost,
      hostSettings: [environmentName(SETTINGS.internalHost.path)],
    },
  };
}

/** Opens and closes all listeners, so that a port in use is reported before a database starts. */
export async function checkPorts(listeners: readonly Listener[]): Promise<void> {
  for (const [at, one] of listeners.entries()) {
    const same = listeners.slice(at + 1).find(({ port, host }) => {
      return port !== 0 && port === one.port && host === one.host;
    });
    if (same === undefined) continue;
    throw new PortFault(
      `the ${one.name} and the ${same.name} port are both ${one.port}; choose another with ` +
        same.portSettings.join(" or "),
    );
  }
  const open: Server[] = [];
  try {
    for (const listener of listeners) {
      const server = createServer();
      open.push(server);
      await listenOn(server, listener, true);
    }
  } finally {
    await Promise.all(open.map((server) => new Promise((done) => server.close(done))));
  }
}

/** Rejects with a `PortFault` that names the setting to change, or with any other fault. */
export async function listenOn(
  server: Server,
  listener: Listener,
  exclusive = false,
): Promise<void> {
  const { host, port } = listener;
  try {
    server.listen({ port, host, exclusive });
    await once(server, "listening");
  } catch (fault) {
    throw listenFault(fault, listener);
  }
}

/** Turns a failure to listen into a `PortFault` that names the settings; else returns `fault`. */
export function listenFault(fault: unknown, listener: Listener): unknown {
  const { code = "" } = fault as NodeJS.ErrnoException;
  const message = explainFault(code, listener);
  return message === undefined ? fault : new PortFault(message, { cause: fault });
}

function explainFault(code: string, listener: Listener): string | undefined {
  const { name, host, port, portSettings, hostSettings } = listener;
  const toPort = portSettings.join(" or ");
  switch (code) {
    case "EADDRINUSE":
      return (
        `the ${name} port ${port} on ${host} is in use by another program; choose another with ` +
        `${toPort} (0: any free one)`
      );
    case "EACCES":
      return `this user has no permission to open the ${name} port ${port}; choose one above 1023 with ${toPort}`;
    case "ERR_SOCKET_BAD_PORT":
      return `${port} is not a port (0 to 65535); change ${toPort}`;
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return `${host} is not an address of this machine; change ${hostSettings.join(" or ")}`;
    default:
      return undefined;
  }
}
