import type {
  CreditEntry,
  OperatorChange,
  OperatorLimit,
  OperatorOrgPage,
  OperatorRestriction,
  Purchase,
} from "../../../../src/account/console-api/contract.ts";
import { ROLES, ROLE_WORDS } from "../../../../src/kernel/core/roles.ts";
import { StatusBadge } from "../../ui/badge.tsx";
import { Copyable } from "../../ui/copyable.tsx";
import { formatCount } from "../../ui/count.tsx";
import type { Column } from "../../ui/data-table.tsx";
import { Money } from "../../ui/money.tsx";
import { Time } from "../../ui/time.tsx";

export const RESTRICTIONS: readonly Column<OperatorRestriction>[] = [
  {
    id: "state",
    label: "State",
    render: (restriction) => stateBadge(restriction),
  },
  { id: "family", label: "Requests", render: ({ family }) => family },
  { id: "reason", label: "Reason", render: ({ reason }) => reason.replaceAll("_", " ") },
  { id: "since", label: "Since", render: ({ since }) => <Time at={since} /> },
  {
    id: "until",
    label: "Until",
    render: ({ until }) => (until === null ? "It is lifted" : <Time at={until} />),
  },
];

function stateBadge(restriction: OperatorRestriction) {
  const { in_effect: isInEffect, lifted_at: lifted, state } = restriction;
  if (isInEffect) {
    const isHard = state === "restricted";
    return (
      <StatusBadge tone={isHard ? "bad" : "warn"}>{isHard ? "Restricted" : "Limited"}</StatusBadge>
    );
  }
  return <StatusBadge tone="quiet">{lifted === null ? "Ended" : "Lifted"}</StatusBadge>;
}

export const limitColumns = (keys: OperatorOrgPage["keys"]): readonly Column<OperatorLimit>[] => [
  {
    id: "source",
    label: "Set by",
    phone: "end",
    render: ({ source }) => (source === "contract" ? "Contract" : "Customer"),
  },
  { id: "for", label: "For", phone: "lead", render: (limit) => limitedThing(limit, keys) },
  {
    id: "rpm",
    label: "Requests/min",
    align: "right",
    phone: "line",
    render: ({ rpm }) => countOrDefault(rpm),
  },
  {
    id: "tpm",
    label: "Tokens/min",
    align: "right",
    phone: "line",
    render: ({ tpm }) => countOrDefault(tpm),
  },
  {
    id: "concurrency",
    label: "Concurrent",
    align: "right",
    phone: "line",
    render: ({ concurrency }) => countOrDefault(concurrency),
  },
];

function limitedThing(
  { scope, key_id: keyId, model }: OperatorLimit,
  keys: OperatorOrgPage["keys"],
): string {
  const name = keys.find((key) => key.key_id === keyId)?.name ?? keyId;
  if (model !== null) return name === null ? model : `${model}, key ${name}`;
  if (scope === "org") return "All keys combined";
  return name === null ? "Each key" : `Key ${name}`;
}

function countOrDefault(value: number | null): string {
  return value === null ? "Default" : formatCount(value);
}

export const WALLET: readonly Column<CreditEntry>[] = [
  { id: "at", label: "Date", render: ({ at }) => <Time at={at} /> },
  { id: "kind", label: "Type", render: ({ kind }) => kind.replaceAll("_", " ") },
  { id: "ref", label: "Reference", render: ({ ref }) => ref },
  {
    id: "amount",
    label: "Amount",
    align: "right",
    render: ({ amount_usd: usd }) => <Money usd={usd} isBrief />,
  },
];

export const PURCHASES: readonly Column<Purchase>[] = [
  { id: "at", label: "Date", render: ({ created_at: at }) => <Time at={at} /> },
  {
    id: "id",
    label: "Purchase",
    render: ({ purchase_id: id }) => <Copyable value={id} label="purchase ID" short />,
  },
  { id: "status", label: "Status", render: ({ status }) => status.replaceAll("_", " ") },
  {
    id: "amount",
    label: "Amount",
    align: "right",
    render: ({ amount_usd: usd }) => <Money usd={usd} isBrief />,
  },
];

export const CHANGES: readonly Column<OperatorChange>[] = [
  { id: "at", label: "Date", phone: "plain", render: ({ at }) => <Time at={at} /> },
  {
    id: "who",
    label: "By",
    phone: "plain",
    render: ({ actor_kind: kind, actor_id: id, actor_email: email }) =>
      email ?? `${kind.replaceAll("_", " ")} ${id}`,
  },
  { id: "says", label: "Action", phone: "lead", render: ({ says }) => says },
  {
    id: "target",
    label: "Object",
    render: ({ target, target_email: email }) =>
      email ?? <Copyable value={target} label="id" short />,
  },
];

type Figures = Pick<
  OperatorOrgPage["usage"][number],
  "requests" | "failed_requests" | "spend_usd" | "margin_usd"
>;

/** Requests, failures, spend and margin. */
export function figureColumns<T extends Figures>(): readonly Column<T>[] {
  return [
    {
      id: "requests",
      label: "Requests",
      align: "right",
      render: ({ requests }) => formatCount(requests),
    },
    {
      id: "failed",
      label: "Failed",
      align: "right",
      render: ({ failed_requests: failed }) => formatCount(failed),
    },
    {
      id: "spend",
      label: "Spend",
      align: "right",
      render: ({ spend_usd: usd }) => <Money usd={usd} headline />,
    },
    {
      id: "margin",
      label: "Margin",
      align: "right",
      render: ({ margin_usd: usd }) => <Money usd={usd} headline />,
    },
  ];
}

export const KEYS: readonly Column<OperatorOrgPage["keys"][number]>[] = [
  { id: "name", label: "Key", render: ({ name }) => name },
  { id: "label", label: "Begins with", render: ({ label }) => label },
  {
    id: "state",
    label: "State",
    render: ({ disabled_at: at }) => (at === null ? "Active" : "Disabled"),
  },
  { id: "created", label: "Created", render: ({ created_at: at }) => <Time at={at} /> },
];

function roleName(role: string): string {
  const known = ROLES.find((each) => each === role);
  return known === undefined ? role : ROLE_WORDS[known].name;
}

export const MEMBERS: readonly Column<OperatorOrgPage["members"][number]>[] = [
  { id: "email", label: "Member", render: ({ email }) => email },
  { id: "role", label: "Role", render: ({ role }) => roleName(role) },
  {
    id: "seen",
    label: "Last seen",
    render: ({ last_seen_at: at }) => (at === null ? "Not in the last weeks" : <Time at={at} />),
  },
];
