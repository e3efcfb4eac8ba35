import type { Session } from "../api/contract.ts";

/** A page in the navigation, the palette and the keyboard shortcuts. */
export interface Place {
  readonly to: string;
  readonly label: string;
  /** Typing `g` and this letter opens the page. */
  readonly letter: string;
  readonly group: "account" | "use" | "market" | "operate";
  readonly isPublic?: boolean;
  readonly isForOperators?: boolean;
  /** Further words by which the palette finds the page. */
  readonly keywords?: string;
}

export const PLACES: readonly Place[] = [
  { to: "/", label: "Overview", letter: "o", group: "use", keywords: "home dashboard" },
  { to: "/usage", label: "Usage", letter: "u", group: "use", keywords: "requests log cost" },
  { to: "/playground", label: "Playground", letter: "p", group: "use", keywords: "chat try" },
  { to: "/optimize", label: "Optimize", letter: "z", group: "use", keywords: "compare search" },
  { to: "/keys", label: "Keys", letter: "k", group: "account", keywords: "api key token" },
  {
    to: "/billing",
    label: "Billing",
    letter: "b",
    group: "account",
    keywords: "credit buy balance invoice payment",
  },
  { to: "/limits", label: "Limits", letter: "l", group: "account", keywords: "rate caps" },
  {
    to: "/connections",
    label: "Connections",
    letter: "c",
    group: "account",
    keywords: "provider keys byok endpoints",
  },
  { to: "/settings", label: "Settings", letter: "s", group: "account", keywords: "profile" },
  { to: "/models", label: "Models", letter: "m", group: "market", isPublic: true },
  { to: "/providers", label: "Providers", letter: "r", group: "market", isPublic: true },
  { to: "/docs", label: "Docs", letter: "d", group: "market", isPublic: true, keywords: "api" },
  {
    to: "/operator",
    label: "Operator",
    letter: "a",
    group: "operate",
    isForOperators: true,
    keywords: "admin organizations health settlement",
  },
];

export const GROUP_LABELS: Readonly<Record<Place["group"], string>> = {
  use: "Use",
  account: "Account",
  market: "Market",
  operate: "Operate",
};

/** The places that this visitor may open. */
export function placesFor<P extends Pick<Place, "isPublic" | "isForOperators">>(
  places: readonly P[],
  { state, is_operator: isOperator }: Pick<Session, "state" | "is_operator">,
): readonly P[] {
  return places.filter(({ isPublic = false, isForOperators = false }) =>
    state === "signed_in" ? isOperator || !isForOperators : isPublic,
  );
}
