import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";

import type { Session } from "../../../src/account/console-api/contract.ts";
import { showCents, showUsd } from "../ui/money-math.ts";
import shell from "./shell.module.css";
import { Tip } from "../ui/tip.tsx";

export function BalanceLink(props: {
  readonly balance: NonNullable<Session["balance"]>;
  readonly isTestMoney: boolean;
}): ReactElement {
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
