import { spawnSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { orReport } from "./or-report.ts";
import { newFolder } from "./run-folder.ts";

const PROGRAM: string = "openssl";

export const hasOpenssl: boolean = orReport(
  spawnSync(PROGRAM, ["version"]).status === 0,
  "openssl is not on PATH: servers with a certificate of a private authority were NOT tested",
);

/** A certificate authority of one test, and its certificate for the server name `localhost`. */
export type TestAuthority = ReturnType<typeof makeAuthority>;

export function makeAuthority() {
  const folder = newFolder("authority");
  const at = (name: string): string => join(folder, name);
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  const ca = ["-x509", "-subj", "/CN=test authority", "-days", "2"];
  openssl("req", ...ca, ...key, "-keyout", at("ca.key"), "-out", at("ca.crt"));
  const request = ["-subj", "/CN=localhost", "-keyout", at("server.key"), "-out", at("server.csr")];
  openssl("req", ...key, ...request);
  writeFileSync(at("server.ext"), "subjectAltName=DNS:localhost\n");
  const signed = ["-CA", at("ca.crt"), "-CAkey", at("ca.key"), "-CAcreateserial", "-days", "2"];
  const files = ["-in", at("server.csr"), "-out", at("server.crt"), "-extfile", at("server.ext")];
  openssl("x509", "-req", ...signed, ...files);
  return {
    folder,
    caFile: at("ca.crt"),
    certFile: at("server.crt"),
    keyFile: at("server.key"),
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
}

function openssl(...args: readonly string[]): void {
  const { status, stderr } = spawnSync(PROGRAM, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`openssl ${args[0]}: ${stderr}`);
}
