import { Link } from "@tanstack/react-router";
import { ActionIcon, useMantineColorScheme } from "@mantine/core";
import { Monitor, Moon, Sun, CircleUser } from "lucide-react";
import { lazy } from "react";

import type { Session } from "../api/contract.ts";
import { showCents, showUsd } from "../ui/money-math.ts";
import shell from "./shell.module.css";
import { Tip } from "../ui/tip.tsx";
import { LoadedOnClick } from "../ui/menu-button.tsx";

export function BalanceLink(props: {
  readonly balance: NonNullable<Session["balance"]>;
  readonly isTestMoney: boolean;
}) {
  const { available_usd, settled_usd, held_usd } = props.balance;
  const label = props.isTestMoney ? "Test balance" : "Balance";
  const shown = showCents(available_usd);
  return (
    <Tip
      label={
        <dl className={shell.sums}>
          <dt>Settled</dt>
          <dd>{showUsd(settled_usd)}</dd>
          <dt>Held by requests now</dt>
          <dd>{showUsd(held_usd)}</dd>
          <dt>Available</dt>
          <dd>{showUsd(available_usd)}</dd>
        </dl>
      }
    >
      <Link
        to="/billing"
        className={shell.balance}
        aria-label={`${label}: ${shown} available. Open billing`}
      >
        <span className={shell.balanceLabel}>{label}</span>
        <strong>{shown}</strong>
      </Link>
    </Tip>
  );
}

const NEXT = { auto: "light", light: "dark", dark: "auto" } as const;
const MARKS = { auto: Monitor, light: Sun, dark: Moon } as const;
const WORDS = { auto: "system", light: "light", dark: "dark" } as const;

export function SchemeSwitch() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const Mark = MARKS[colorScheme];
  const label = `Appearance: ${WORDS[colorScheme]}. Change to ${WORDS[NEXT[colorScheme]]}`;
  return (
    <Tip label={label}>
      <ActionIcon size="lg" aria-label={label} onClick={() => setColorScheme(NEXT[colorScheme])}>
        <Mark size={18} aria-hidden />
      </ActionIcon>
    </Tip>
  );
}

const UserMenuOpened = lazy(() => import("./user-menu-opened.tsx"));

export function UserMenu({ onHelp }: { readonly onHelp: () => void }) {
  const button = (
    <ActionIcon size="lg" aria-label="Your account">
      <CircleUser size={20} aria-hidden />
    </ActionIcon>
  );
  return (
    <LoadedOnClick button={button}>
      <UserMenuOpened button={button} onHelp={onHelp} />
    </LoadedOnClick>
  );
}
