import type { Config } from "../../kernel/index.ts";
import type { CheckGroup, DoctorCheck } from "./doctor-check.ts";

const ADDRESSES = [
  { setting: "databaseUrl", variable: "DATABASE_URL" },
  { setting: "databaseDirectUrl", variable: "DATABASE_DIRECT_URL" },
  { setting: "databaseReportsUrl", variable: "DATABASE_REPORTS_URL" },
] as const satisfies readonly { readonly setting: keyof Config; readonly variable: string }[];

/** Checks that each PostgreSQL server on another machine proves its identity with TLS. */
export const addressChecks: CheckGroup = ({ config }) => {
  const named = ADDRESSES.filter(({ setting }) => config[setting] !== "");
  const unproven = named.filter(({ setting }) => !isProven(config[setting]));
  if (unproven.length > 0) {
    return unproven.map(({ variable }): DoctorCheck => ({
      id: "database TLS",
      level: "warning",
      detail:
        `the server of ${variable} does not have to prove who it is; add \`sslmode=verify-full\` to it ` +
        "(and `sslrootcert=FILE` for a private authority)",
    }));
  }
  if (named.length === 0) return [];
  return [{ id: "database TLS", level: "ok", detail: "local, or its certificate is verified" }];
};

/** True for a server on this machine, or if the server's certificate and name are verified. */
function isProven(address: string): boolean {
  // A path names a socket on this machine.
  if (address.startsWith("/") || !URL.canParse(address)) return true;
  const { hostname, protocol, searchParams } = new URL(address);
  if (searchParams.get("sslmode") === "verify-full") return true;
  const host = searchParams.get("host") ?? decodeURIComponent(hostname).replace(/^\[|\]$/g, "");
  const isSocket = protocol === "socket:" || host === "" || host.startsWith("/");
  return isSocket || host === "localhost" || host === "::1" || /^127(?:\.\d+){3}$/.test(host);
}
