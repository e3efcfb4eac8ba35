import type { Deployment, WireId } from "../../catalog/index.ts";
import { assert } from "../../kernel/index.ts";
import { anthropicMessages } from "./anthropic-messages/index.ts";
import type { Wire } from "./contract.ts";
import { openaiChat } from "./openai-chat/index.ts";

export class WireTable {
  readonly all: readonly Wire[];
  readonly #byId: ReadonlyMap<WireId, Wire>;
  readonly #first: Wire;
  readonly #others: readonly { readonly wire: Wire; readonly below: string }[];

  /** Errors on a path that belongs to no wire have the format of `first`. */
  constructor(first: Wire, ...others: readonly Wire[]) {
    this.all = [first, ...others];
    this.#byId = new Map(this.all.map((wire) => [wire.id, wire]));
    assert(this.#byId.size === this.all.length, "each wire has an id of its own");
    this.#first = first;
    this.#others = others.map((wire) => ({ wire, below: `${wire.clientPath}/` }));
  }

  get(id: WireId): Wire {
    const wire = this.#byId.get(id);
    assert(wire !== undefined, "a listing speaks a wire that the program has");
    return wire;
  }

  ofPath(path: string): Wire {
    for (const { wire, below } of this.#others) {
      if (path === wire.clientPath || path.startsWith(below)) return wire;
    }
    return this.#first;
  }
}

export const wires: WireTable = new WireTable(openaiChat, anthropicMessages);

export function providerAuth(
  wire: Wire,
  { wireProfile }: Pick<Deployment, "wireProfile">,
  key: string,
): readonly [name: string, value: string] {
  const auth = wireProfile?.auth;
  if (auth === undefined) return wire.authHeader(key);
  return auth === "bearer" ? ["authorization", `Bearer ${key}`] : [auth, key];
}
