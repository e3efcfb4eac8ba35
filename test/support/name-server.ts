import { createSocket } from "node:dgram";
import { once } from "node:events";

import { onTestFinished } from "vitest";

export async function nameServer(answer: string) {
  const server = await startNameServer(answer);
  onTestFinished(() => server.close());
  return server;
}

/** Starts a name server that answers every name with `answer`, or never if "silent". */
export async function startNameServer(answer: string) {
  const socket = createSocket("udp4");
  const asked: string[] = [];
  socket.on("message", (query, from) => {
    const end = query.indexOf(0, 12);
    asked.push(nameIn(query.subarray(12, end)));
    if (answer !== "silent") socket.send(answerTo(query, end, answer), from.port, from.address);
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  return { address: `127.0.0.1:${socket.address().port}`, asked, close: () => void socket.close() };
}

function nameIn(labels: Buffer): string {
  const parts: string[] = [];
  for (let at = 0; at < labels.length; at += 1 + (labels[at] ?? 0)) {
    parts.push(labels.toString("latin1", at + 1, at + 1 + (labels[at] ?? 0)));
  }
  return parts.join(".");
}

function answerTo(query: Buffer, nameEnd: number, address: string): Buffer {
  const question = query.subarray(12, nameEnd + 5);
  const isA = query.readUInt16BE(nameEnd + 1) === 1;
  const head = Buffer.from([0, 0, 0x81, 0x80, 0, 1, 0, isA ? 1 : 0, 0, 0, 0, 0]);
  query.copy(head, 0, 0, 2);
  if (!isA) return Buffer.concat([head, question]);
  const record = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4]);
  return Buffer.concat([head, question, record, Buffer.from(address.split(".").map(Number))]);
}
