import { connect } from "node:net";

/** Every request asks for the connection to be closed, so only a fault takes this long. */
const WAIT_MS = 30_000;

/** Sends raw bytes, and reads until the server closes the connection or 30 seconds pass. */
export async function rawHttp(url: string, bytes: string | Buffer) {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  socket.on("error", () => undefined);
  socket.write(bytes);
  const closed = await new Promise<boolean>((resolve) => {
    socket.setTimeout(WAIT_MS, () => resolve(false));
    socket.on("close", () => resolve(true));
  });
  socket.destroy();
  const text = Buffer.concat(chunks).toString("latin1");
  const statuses = [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((match) => Number(match[1]));
  return { text, statuses, closed };
}
