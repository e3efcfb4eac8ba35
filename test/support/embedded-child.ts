/** Starts the embedded PostgreSQL of a folder, prints its addresses, and waits to be killed. */
import { startEmbeddedPostgres } from "../../src/kernel/storage/embedded-server.ts";
import { silentLog } from "./silent-log.ts";

const [dataDir = "", mode] = process.argv.slice(2);
const isKeptUp = mode === "kept-up";
const server = await startEmbeddedPostgres({ dataDir, log: silentLog, isKeptUp });
process.stdout.write(`${JSON.stringify({ ...server, pid: process.pid })}\n`);
process.stdin.resume();
process.stdin.once("end", () => void server.stop());
