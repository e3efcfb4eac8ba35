import { type ChangedBy, type Config, type Clock, isEmail } from "../kernel/index.ts";
import { IdentitySettingFault, makeClaimLink, chooseSignInKind } from "../account/index.ts";
import type { Backend } from "./open-backend.ts";

/** Makes a link that signs in whoever opens it, or throws an `IdentitySettingFault`. */
export async function makeConsoleLink(options: {
  readonly config: Config;
  readonly backend: Pick<Backend, "identityStore">;
  readonly clock: Clock;
  /** The e-mail address of the person who signs in. If absent, that person enters it. */
  readonly email?: string;
  readonly by: ChangedBy;
}) {
  const { config, backend, clock, email, by } = options;
  if (email !== undefined && !isEmail(email.trim())) {
    throw new IdentitySettingFault(`--email: ${email} is not an e-mail address`);
  }
  assertLocal(config);
  const store = backend.identityStore.links;
  const running = await store.findConsole();
  const link = await makeClaimLink({
    store,
    clock,
    consoleUrl: running ?? findConsoleUrl(config),
    by,
    ...(email === undefined ? {} : { email }),
  });
  // If a server runs on this database, the link opens the console of that server.
  return { ...link, isRunning: running !== undefined };
}

function assertLocal(config: Config): void {
  const kind = chooseSignInKind(config);
  if (kind === "oidc") {
    throw new IdentitySettingFault(
      `people sign in through ${config.oidcIssuer}; links work only while oidc.issuer (OIDC_ISSUER) is empty`,
    );
  }
  if (kind === "none") {
    throw new IdentitySettingFault(
      "the console is not on loopback, so links are off; set oidc.issuer (OIDC_ISSUER), or local_sign_in " +
        "(TM_LOCAL_SIGN_IN) if only you can reach the console",
    );
  }
}

function findConsoleUrl(config: Config): string {
  if (config.consoleUrl !== "") return config.consoleUrl;
  if (config.consolePort === 0) {
    throw new IdentitySettingFault(
      "no server runs on these data, and console_port is 0, so the console's port is not known; start " +
        "the server first, or set console_url (TM_CONSOLE_URL)",
    );
  }
  const host = config.host.includes(":") ? `[${config.host}]` : config.host;
  return `http://${host}:${config.consolePort}`;
}
