import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

import { digestHex } from "../gateway/index.ts";
import type { Backend, RunningGateway } from "../app/index.ts";
import {
  byGateway,
  type Config,
  DEVELOPMENT_ORG_ID,
  formatUsd,
  microUsd,
} from "../kernel/index.ts";
import { type Simulator, startSimulator, startTestCheckout } from "../dev/index.ts";
import { clock } from "./command-context.ts";
import { makeKey } from "./first-run/open-account.ts";

const SIMULATOR_PORT = 9100;
const SIMULATOR_ADDRESS = `http://127.0.0.1:${SIMULATOR_PORT}/`;
const TEST_CREDIT = microUsd(25_000_000n);
const TEST_CREDIT_REF = "dev-test-credit";
const OWNER_EMAIL = "dev@localhost";
const KEY_FILE = "dev-key";
const DEVELOPMENT = byGateway("dev");

export async function prepareDevelopment(config: Config, backend: Backend) {
  const simulator = await startSimulatorSomewhere();
  let consoleUrl = "";
  const webhookUrl = (): string => `${consoleUrl}/webhooks/stripe`;
  const checkout = await startTestCheckout({ webhookUrl, clock });
  const close = async (): Promise<void> => {
    await Promise.all([simulator.close(), checkout.close()]);
  };
  try {
    const key = await devKey(config, backend);
    return {
      /** Points the simulator's manifests at the running simulator; sells credit for test money. */
      parts: {
        rewriteManifests: { from: SIMULATOR_ADDRESS, to: `${simulator.url}/` },
        testCheckout: checkout,
      },
      welcome: async (gateway: RunningGateway, logFile: string | undefined): Promise<string> => {
        consoleUrl = gateway.consoleUrl;
        // The link signs in the owner of the organization to which the printed key belongs.
        const link = await gateway.makeClaimLink(OWNER_EMAIL);
        return welcomeText(gateway, {
          simulator,
          key,
          data: backend.dataDir === undefined ? "DATABASE_URL" : resolve(config.dataDir),
          link,
          logFile,
        });
      },
      close,
    };
  } catch (fault) {
    await close();
    throw fault;
  }
}

async function startSimulatorSomewhere(): Promise<Simulator> {
  try {
    return await startSimulator({ port: SIMULATOR_PORT });
  } catch {
    return await startSimulator();
  }
}

/**
 * The key is kept in the data folder. The organization is found by this key, else by its fixed ID,
 * but not by its name, which may have changed.
 */
async function devKey(config: Config, backend: Backend): Promise<DevKey> {
  const { accountStore } = backend;
  const file = join(config.dataDir, KEY_FILE);
  const kept = existsSync(file) ? readFileSync(file, "utf8").trim() : "";
  const digest = digestHex(kept);
  const record = (await backend.keyStore.findByDigests([Buffer.from(digest, "hex")])).get(digest);
  const org =
    (await accountStore.findOrg(record?.orgId ?? DEVELOPMENT_ORG_ID)) ??
    (await accountStore.createOrg(
      { orgId: DEVELOPMENT_ORG_ID, name: "Development", email: OWNER_EMAIL },
      DEVELOPMENT,
    ));
  if (record !== undefined) return { raw: kept, orgName: org.name };
  const { orgId } = org;
  const ref = `${TEST_CREDIT_REF} ${orgId}`;
  await backend.creditStore.grant({ orgId, amountMicroUsd: TEST_CREDIT, ref }, DEVELOPMENT);
  const { key } = await makeKey(accountStore, { orgId, name: "development" }, DEVELOPMENT);
  mkdirSync(config.dataDir, { recursive: true });
  writeFileSync(file, `${key}\n`, { mode: 0o600 });
  return { raw: key, orgName: org.name };
}

interface DevKey {
  readonly raw: string;
  readonly orgName: string;
}

interface Welcome {
  readonly simulator: Simulator;
  readonly key: DevKey;
  readonly data: string;
  /** The one-time sign-in link; undefined if sign-in is off or goes through OpenID Connect. */
  readonly link: string | undefined;
  readonly logFile: string | undefined;
}

function welcomeText(gateway: RunningGateway, welcome: Welcome): string {
  const { simulator, key, data, link, logFile } = welcome;
  const { models } = gateway.catalog.current;
  const texts = models.filter(({ modality }) => modality === "text");
  const model = texts.find(({ id }) => id === "sim/both") ?? texts[0];
  return `
Token Market is up.

  gateway    ${gateway.gatewayUrl}   (wire_a base: ${gateway.gatewayUrl}/v1)
  console    ${gateway.consoleUrl}
  metrics    ${gateway.internalUrl}/metrics
  simulator  ${simulator.url}
  data       ${data}   (what --data takes)
  log        ${logFile === undefined ? "standard error" : `${logFile}   (--log json: here)`}
  models     ${modelsLine(models.map((each) => each.id))}
  key        ${key.raw}
             of the organization "${key.orgName}", which was given $${formatUsd(TEST_CREDIT).slice(0, -4)} of test credit

${link === undefined ? NO_LINK : BY_LINK}:

  ${link ?? `${gateway.consoleUrl}/sign-in`}

Try it:

  curl -s ${gateway.gatewayUrl}/v1/chat/completions \\
    -H 'authorization: Bearer ${key.raw}' -H 'content-type: application/json' \\
    -d '{"model":"${model?.id ?? "sim/both"}","max_tokens":64,"messages":[{"role":"user","content":"Say hello"}]}'

Stop with Ctrl-C.
`;
}

const BY_LINK =
  "Open this once to sign in to the same organization (15 minutes; `console-link` prints another)";
const NO_LINK = "No link signs in: OIDC_ISSUER is set, or the console is not on loopback";

function modelsLine(ids: readonly string[]): string {
  if (ids.length === 0) return "none: add a manifest";
  const rest = ids.length - MODELS_SHOWN;
  return `${ids.slice(0, MODELS_SHOWN).join(", ")}${rest > 0 ? `, and ${rest} more` : ""}`;
}

const MODELS_SHOWN = 6;
