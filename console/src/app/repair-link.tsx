import { Anchor } from "@mantine/core";

import type { Notice, Refusal } from "../api/contract.ts";
import { useSession } from "../api/use-session.ts";
import { AppLink, LinkButton, type Target } from "../ui/app-link.tsx";

interface Repair {
  readonly action: Notice["action"] | NonNullable<Refusal["action"]>;
  /** ID of the key or model that the repair is about; null for the organization. */
  readonly target: string | null;
}

export function RepairLink({ action, target }: Repair) {
  const { installation } = useSession();
  if (action === "contact_support") return <Support support={installation.support} />;
  return (
    <AppLink {...choosePlace(action, target)} size="sm">
      {LABELS[action]}
    </AppLink>
  );
}

export function RepairButton({ action, target }: Repair) {
  const { installation } = useSession();
  if (action === "contact_support") return <Support support={installation.support} />;
  return (
    <LinkButton {...choosePlace(action, target)} size="xs">
      {LABELS[action]}
    </LinkButton>
  );
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

export function Support({ support }: { readonly support: string | null }) {
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
