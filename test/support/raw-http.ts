import { connect } from "node:net";

/**
 * Every request asks the server to close the connection, so only one that wrongly stays open takes
 * this long.
 */
const WAIT_MS = 30_000;

export interface RawAnswer {
  readonly text: string;
  /** The statuses of the answers, in order. */
  readonly statuses: readonly number[];
  /** True if the server closed the connection by itself. */
  readonly closed: boolean;
}

/** Sends raw bytes over a new socket, and reads until the server closes it or 30 seconds pass. */
export async function rawHttp(url: string, bytes: string | Buffer): Promise<RawAnswer> {
  const { hostname, port } = new URL(url);
  return await new Promise((resolve) => {
    const chunks: Buffer[] = [];
    const socket = connect({ host: hostname, port: Number(port) });
    const finish = (closed: boolean): void => {
      clearTimeout(timer);
      socket.destroy();
      const text = Buffer.concat(chunks).toString("latin1");
      const statuses = [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((match) => Number(match[1]));
      resolve({ text, statuses, closed });
    };
    const timer = setTimeout(() => finish(false), WAIT_MS);
    socket.on("data", (chunk: Buffer) => chunks.push(chunk));
    socket.on("error", () => undefined);
    socket.on("close", () => finish(true));
    socket.write(bytes);
  });
}
