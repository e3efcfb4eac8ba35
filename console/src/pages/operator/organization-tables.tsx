import type {
  CreditEntry,
  OperatorChange,
  OperatorLimit,
  OperatorOrgPage,
  OperatorRestriction,
  Purchase,
} from "../../api/contract.ts";
import { ROLES, ROLE_WORDS } from "../../../../src/kernel/core/roles.ts";
import { StatusBadge } from "../../ui/badge.tsx";
import { Copyable } from "../../ui/copyable.tsx";
import { moneyColumn, numberColumn, timeColumn, column } from "../../ui/columns.tsx";
import type { Column } from "../../ui/data-table.tsx";
import { addUsd } from "../../ui/money-math.ts";
import { toKeyStatus } from "../keys/match-keys.ts";

export const RESTRICTIONS: readonly Column<OperatorRestriction>[] = [
  column("state", "State", stateBadge),
  column("family", "Requests", ({ family }) => family),
  column("reason", "Reason", ({ reason }) => reason.replaceAll("_", " ")),
  timeColumn("since", "Since", ({ since }) => since),
  timeColumn("until", "Until", ({ until }) => until, { otherwise: "It is lifted" }),
];

function stateBadge({ in_effect: isInEffect, lifted_at: lifted, state }: OperatorRestriction) {
  if (!isInEffect) {
    return <StatusBadge tone="quiet">{lifted === null ? "Ended" : "Lifted"}</StatusBadge>;
  }
  const isHard = state === "restricted";
  return (
    <StatusBadge tone={isHard ? "bad" : "warn"}>{isHard ? "Restricted" : "Limited"}</StatusBadge>
  );
}

export const limitColumns = (keys: OperatorOrgPage["keys"]): readonly Column<OperatorLimit>[] => [
  column("source", "Set by", ({ source }) => (source === "contract" ? "Contract" : "Customer"), {
    phone: "end",
  }),
  column("for", "For", (limit) => limitedThing(limit, keys), { phone: "lead" }),
  numberColumn("rpm", "Requests/min", ({ rpm }) => rpm, LIMIT),
  numberColumn("tpm", "Tokens/min", ({ tpm }) => tpm, LIMIT),
  numberColumn("concurrency", "Concurrent", ({ concurrency }) => concurrency, LIMIT),
];

const LIMIT = { otherwise: "Default", phone: "line" } as const;

function limitedThing(
  { scope, key_id: keyId, model }: OperatorLimit,
  keys: OperatorOrgPage["keys"],
): string {
  const name = keys.find((key) => key.key_id === keyId)?.name ?? keyId;
  if (model !== null) return name === null ? model : `${model}, key ${name}`;
  if (scope === "org") return "All keys combined";
  return name === null ? "Each key" : `Key ${name}`;
}

export const WALLET: readonly Column<CreditEntry>[] = [
  timeColumn("at", "Date", ({ at }) => at),
  column("kind", "Type", ({ kind }) => kind.replaceAll("_", " ")),
  column("ref", "Reference", ({ ref }) => ref),
  moneyColumn("amount", "Amount", ({ amount_usd: usd }) => usd, { isBrief: true }),
];

export const PURCHASES: readonly Column<Purchase>[] = [
  timeColumn("at", "Date", ({ created_at: at }) => at),
  column("id", "Purchase", ({ purchase_id: id }) => (
    <Copyable value={id} label="purchase ID" short />
  )),
  column("status", "Status", (purchase) =>
    purchase.is_granted_by_hand && purchase.status === "parked"
      ? "granted by hand"
      : purchase.status.replaceAll("_", " "),
  ),
  moneyColumn("amount", "Amount", ({ amount_usd: usd }) => usd, { isBrief: true }),
  moneyColumn(
    "returned",
    "Refunded or disputed",
    ({ refunded_usd: refunded, disputed_usd: disputed }) => addUsd(refunded, disputed),
    { isBrief: true },
  ),
];

export const CHANGES: readonly Column<OperatorChange>[] = [
  timeColumn("at", "Date", ({ at }) => at, { phone: "plain" }),
  column(
    "who",
    "By",
    ({ actor_kind: kind, actor_id: id, actor_email: email }) =>
      email ?? `${kind.replaceAll("_", " ")} ${id}`,
    { phone: "plain" },
  ),
  column("says", "Action", ({ says }) => says, { phone: "lead" }),
  column(
    "target",
    "Object",
    ({ target, target_email: email }) => email ?? <Copyable value={target} label="id" short />,
  ),
];

type Figures = Pick<
  OperatorOrgPage["usage"][number],
  "requests" | "failed_requests" | "spend_usd" | "margin_usd"
>;

export function figureColumns<T extends Figures>(): readonly Column<T>[] {
  return [
    numberColumn("requests", "Requests", ({ requests }) => requests),
    numberColumn("failed", "Failed", ({ failed_requests: failed }) => failed),
    moneyColumn("spend", "Spend", ({ spend_usd: usd }) => usd, { headline: true }),
    moneyColumn("margin", "Margin", ({ margin_usd: usd }) => usd, { headline: true }),
  ];
}

const KEY_STATES = { active: "Active", expired: "Expired", disabled: "Disabled" };

export const KEYS: readonly Column<OperatorOrgPage["keys"][number]>[] = [
  column("name", "Key", ({ name }) => name),
  column("label", "Begins with", ({ label }) => label),
  column("state", "State", (key) => KEY_STATES[toKeyStatus(key)]),
  timeColumn("created", "Created", ({ created_at: at }) => at),
];

function roleName(role: string): string {
  const known = ROLES.find((each) => each === role);
  return known === undefined ? role : ROLE_WORDS[known].name;
}

export const MEMBERS: readonly Column<OperatorOrgPage["members"][number]>[] = [
  column("email", "Member", ({ email }) => email),
  column("role", "Role", ({ role }) => roleName(role)),
  timeColumn("seen", "Last seen", ({ last_seen_at: at }) => at, {
    otherwise: "Not in the last weeks",
  }),
];
