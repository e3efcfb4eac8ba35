import { Anchor } from "@mantine/core";

import type { Notice, Refusal } from "../api/contract.ts";
import { useSession } from "../api/use-answer.ts";
import { AppLink, LinkButton, type Target } from "../ui/app-link.tsx";

interface Repair {
  readonly action: Notice["action"] | NonNullable<Refusal["action"]>;
  /** ID of the key or model that the repair is about; null for the organization. */
  readonly target: string | null;
  readonly isButton?: boolean;
}

export function RepairLink({ action, target, isButton = false }: Repair) {
  if (action === "contact_support") return <Support />;
  const link = { ...choosePlace(action, target), children: LABELS[action] };
  return isButton ? <LinkButton {...link} size="xs" /> : <AppLink {...link} size="sm" />;
}

type Place = Exclude<Repair["action"], "contact_support">;

const LABELS: Readonly<Record<Place, string>> = {
  add_credit: "Add credit",
  raise_cap: "Raise cap",
  raise_limit: "Raise limit",
  edit_key: "Edit key",
  choose_model: "View models",
  view_model: "View model",
  open_billing: "Open billing",
};

function choosePlace(action: Place, target: string | null): Target {
  if (action === "add_credit" || action === "open_billing") return { to: "/billing" };
  if (action === "choose_model") return { to: "/models" };
  if (action === "edit_key" && target === null) return { to: "/keys" };
  if (target === null) return { to: "/limits" };
  return action === "view_model"
    ? { to: "/models/$", params: { _splat: target } }
    : { to: "/keys/$keyId", params: { keyId: target } };
}

export function Support() {
  const { support } = useSession().installation;
  if (support === null || support === "") return null;
  const href = supportAddress(support);
  return (
    <>
      Support:{" "}
      {href === undefined ? (
        support
      ) : (
        <Anchor href={href} inherit>
          {support}
        </Anchor>
      )}
    </>
  );
}

function supportAddress(support: string): string | undefined {
  if (/^https?:\/\//.test(support)) return support;
  return /^[^\s@/]+@[^\s@/]+$/.test(support) ? `mailto:${support}` : undefined;
}
