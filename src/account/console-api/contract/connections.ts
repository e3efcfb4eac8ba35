import { Type, type Static } from "typebox";

import { Count, Fields, Id, Instant, Name, nullable, setting, ShortText } from "./shared.ts";

export const Connection = Type.Object({
  connection_id: Id,
  provider: Type.String(),
  name: Type.String(),
  label: Type.String(),
  /** Null if every key of the organization may use the connection. */
  key_id: nullable(Id),
  created_at: Instant,
  disabled_at: nullable(Instant),
});
export type Connection = Static<typeof Connection>;

export const OwnEndpoint = Type.Object({
  endpoint_id: Id,
  provider: Type.String(),
  models: Type.Array(Type.String()),
  rps: nullable(Count),
  rpm: nullable(Count),
  tpm: nullable(Count),
  concurrency: nullable(Count),
  created_at: Instant,
});
export type OwnEndpoint = Static<typeof OwnEndpoint>;

export const Connections = Type.Object({
  /** False if the operator has configured no encryption key for provider keys. */
  is_available: Type.Boolean(),
  providers: Type.Array(Type.Object({ id: Type.String(), name: Type.String() })),
  data: Type.Array(Connection),
  endpoints: Type.Array(OwnEndpoint),
});
export type Connections = Static<typeof Connections>;

export const connectionRoutes = {
  "GET /api/console/connections": {
    summary: "The organization's own provider keys and dedicated endpoints",
    command: {
      usage: "connection list",
      readsCatalog: true,
      columns: "connection_id provider name label key_id disabled_at endpoint_id id",
    },
    needs: "read",
    answer: Connections,
  },
  "POST /api/console/connections": {
    summary: "Stores a provider key of the organization, encrypted; it is never shown again",
    command: { usage: "connection add", readsCatalog: true, secret: "provider_key" },
    changes: ["connection.add"],
    ...setting("keys"),
    body: Fields({
      provider: ShortText("the id of the provider that issued the key"),
      name: Name,
      provider_key: Type.String({
        minLength: 8,
        maxLength: 4096,
        description: "the provider's key of 8 to 4096 characters",
      }),
      key_id: Type.Optional(
        ShortText("the id of the one key that uses it; absent: every key does"),
      ),
    }),
    answer: Connection,
  },
  "POST /api/console/connections/:connection_id/test": {
    summary: "Asks the provider whether it accepts the key",
    command: { usage: "connection test <connection_id>", readsCatalog: true, verdict: "ok" },
    changes: [],
    needs: "keys",
    gate: "checks",
    answer: Type.Object({ ok: Type.Boolean(), message: Type.String() }),
  },
  "POST /api/console/connections/:connection_id/disable": {
    summary: "Disables a connection permanently and deletes the provider key",
    command: { usage: "connection disable <connection_id>" },
    changes: ["connection.disable"],
    ...setting("keys"),
    answer: Connection,
  },
} as const;
