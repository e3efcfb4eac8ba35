import {
  type EndpointRecord,
  providerKeyProblem,
  sealConnection,
  SealedKeyFault,
} from "../../gateway/index.ts";
import type { Catalog } from "../../catalog/index.ts";
import type { ConnectionCheck, OperationDeps } from "./console-deps.ts";
import { conflict, ConsoleRefusal, invalidField, notFound } from "./console-refusal.ts";
import { Connection, type connectionRoutes, OwnEndpoint } from "./contract/connections.ts";
import type { Acting, Call, Handlers } from "./handler.ts";
import { readName } from "./read-values.ts";
import { showLimits } from "./limits-routes.ts";
import { present } from "./present.ts";

/** Routes for the organization's own provider keys, which no answer contains, and its endpoints. */
export function connectionHandlers(deps: OperationDeps): Handlers<keyof typeof connectionRoutes> {
  const { connections } = deps;
  return {
    "GET /api/console/connections": async ({ session: { orgId } }) => {
      const [data, endpoints] = await Promise.all([
        connections.list(orgId),
        deps.rules.listEndpoints(orgId),
      ]);
      const catalog = deps.catalog.current;
      return {
        is_available: deps.vault !== undefined,
        providers: catalog.providers.map(({ id, name }) => ({ id, name })),
        data: data.map((each) => present(Connection, each)),
        endpoints: endpoints.map((each) => presentEndpoint(catalog, each)),
      };
    },

    "POST /api/console/connections": (call) => addConnection(deps, call),

    "POST /api/console/connections/:connection_id/test": async ({ session, params }) => {
      const connection = await connections.find(params.connection_id, session.orgId);
      if (connection === undefined) return NO_SUCH_CONNECTION;
      if (connection.disabledAtMs !== null) {
        return conflict("the connection is disabled and its key deleted; add a new one");
      }
      if (deps.vault === undefined) return noVault(session);
      try {
        const check = await deps.checkConnection(connection);
        return check === undefined ? GONE_PROVIDER : presentCheck(check);
      } catch (fault) {
        if (fault instanceof SealedKeyFault) return conflict(`${fault.message} Add it again.`);
        throw fault;
      }
    },

    "POST /api/console/connections/:connection_id/disable": async ({ session, params, by }) => {
      const disabled = await connections.disable(params.connection_id, session.orgId, by);
      return disabled === undefined ? NO_SUCH_CONNECTION : present(Connection, disabled);
    },
  };
}

const NO_SUCH_CONNECTION = notFound("connection");
const NO_SUCH_KEY = notFound("key");
const NO_VAULT = conflict(
  "provider keys cannot be stored here; ask the operator to configure an encryption key",
);
const NO_VAULT_YET = conflict(
  "provider keys are stored encrypted and there is no key for that: set TM_ENCRYPTION_KEY, here and for the server, to what `openssl rand -base64 32` prints, and keep a copy",
);

function noVault({ isOperator = false }: Acting): ConsoleRefusal {
  return isOperator ? NO_VAULT_YET : NO_VAULT;
}

async function addConnection(
  deps: OperationDeps,
  { session, body: wanted, by }: Call<"POST /api/console/connections">,
): Promise<Connection | ConsoleRefusal> {
  const { vault, accounts, connections, catalog } = deps;
  const { orgId } = session;
  if (vault === undefined) return noVault(session);
  const name = readName(wanted.name);
  if (name instanceof ConsoleRefusal) return name;
  const { providers, deployments } = catalog.current;
  // A command may run without the marketplace's own keys. Then the catalog lists no provider, so a
  // command finds the provider by its deployments.
  const listed =
    session.isOperator === true
      ? deployments.find((each) => each.providerId === wanted.provider)?.providerId
      : providers.find(({ id }) => id === wanted.provider)?.id;
  if (listed === undefined) {
    return invalidField("provider", "this provider is not listed here; choose one from the list");
  }
  const { provider_key: providerKey, key_id: keyId } = wanted;
  const reason = providerKeyProblem(providerKey);
  if (reason !== undefined)
    return invalidField("provider_key", `provider_key cannot be used: ${reason}`);
  const key = keyId === undefined ? undefined : await accounts.findKey(orgId, keyId);
  if (keyId !== undefined && key === undefined) return NO_SUCH_KEY;
  const sealed = sealConnection(vault, {
    orgId,
    providerId: listed,
    keyId: key?.keyId ?? null,
    name,
    providerKey,
  });
  const made = await connections.create(sealed, by);
  if (made === undefined) return NO_SUCH_KEY;
  if (made === "too_many") return TOO_MANY_CONNECTIONS;
  return made === "taken" ? TAKEN : present(Connection, made);
}

const TAKEN = conflict("you already have an active connection to this provider; disable it first");
const TOO_MANY_CONNECTIONS = conflict(
  "your organization has reached its maximum number of connections; one that is disabled counts for 30 days more: disable those you do not need, or contact support",
);

const GONE_PROVIDER = {
  ok: false,
  message: "the provider is no longer listed here, so the key is not used",
};

function presentCheck(check: ConnectionCheck): { ok: boolean; message: string } {
  if (check.verdict === "unreachable") {
    return { ok: false, message: `the provider could not be reached: ${check.reason}` };
  }
  const { verdict, status } = check;
  return { ok: verdict === "accepted", message: CHECK_MESSAGES[verdict](status) };
}

const CHECK_MESSAGES = {
  accepted: (status: number) => `the provider accepted the key (status ${status})`,
  refused: (status: number) =>
    `the provider rejected the key (status ${status}); disable the connection and add a new key`,
  unclear: (status: number) =>
    `the provider answered with status ${status}, which does not show whether the key is valid`,
} as const;

export function presentEndpoint(catalog: Catalog, endpoint: EndpointRecord): OwnEndpoint {
  const { providerId, limits } = endpoint;
  const own = catalog.deployments.filter((each) => each.providerId === providerId);
  return present(OwnEndpoint, endpoint, {
    models: own.filter((each) => each.notReady === "private").map(({ modelId }) => modelId),
    rps: limits.requestsPerSecond ?? null,
    ...showLimits(limits),
  });
}
