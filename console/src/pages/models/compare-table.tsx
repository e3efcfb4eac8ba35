import { Button } from "@mantine/core";
import type { ReactElement } from "react";

import type { ListingTrust, Model } from "../../../../src/account/console-api/contract.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { useMaybeSession } from "../../api/use-session.ts";
import { AppLink } from "../../ui/app-link.tsx";
import kit from "../../ui/kit.module.css";
import { NameLine } from "../../ui/name-line.tsx";
import { TRUST, overbilledWords } from "../verification/verification-labels.ts";
import { compareFacts, type FactCell } from "./compare-facts.ts";
import styles from "./models.module.css";
import { useServed } from "./use-served.ts";

export function CompareTable(props: {
  readonly models: readonly Model[];
  readonly onRemove: (id: string) => void;
}): ReactElement {
  const { models, onRemove } = props;
  const verdicts = useFirstVerdicts(models);
  const served = useServed();
  return (
    <div className={kit.tableScroll} tabIndex={0} role="group" aria-label="Models side by side">
      <table className={`${kit.table} ${styles.compareTable}`}>
        <caption className={kit.hidden}>Models side by side</caption>
        <thead>
          <tr>
            <th scope="col">Fact</th>
            {models.map((model) => (
              <th key={model.id} scope="col">
                <NameLine
                  of={model.id}
                  name={model.name}
                  link={
                    <AppLink to="/models/$" params={{ _splat: model.id }} size="sm" fw={600}>
                      {model.name}
                    </AppLink>
                  }
                />
                <Button
                  variant="subtle"
                  size="compact-xs"
                  aria-label={`Remove ${model.name}`}
                  onClick={() => onRemove(model.id)}
                >
                  Remove
                </Button>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {compareFacts(models, verdicts, served?.of).map(({ label, cells }) => (
            <tr key={label}>
              <th scope="row">{label}</th>
              {cells.map((cell, at) => (
                <td key={models[at]?.id ?? at}>
                  <Cell cell={cell} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Cell({ cell }: { readonly cell: FactCell }): ReactElement {
  const { text, note, isBest } = cell;
  return (
    <>
      <span className={isBest ? styles.best : undefined}>{text}</span>
      {isBest ? <span className={kit.hidden}> (best)</span> : null}
      {note === undefined ? null : <span className={styles.priceNote}>{note}</span>}
    </>
  );
}

/**
 * Labels for the verification state of each model's first listing, for at most four models.
 * Undefined while it loads, and for visitors, who may not see it.
 */
function useFirstVerdicts(models: readonly Model[]): readonly (string | undefined)[] {
  const verdicts = [
    useVerdict(models[0]),
    useVerdict(models[1]),
    useVerdict(models[2]),
    useVerdict(models[3]),
  ];
  return verdicts.slice(0, models.length);
}

function useVerdict(model: Model | undefined): string | undefined {
  const isSignedIn = useMaybeSession()?.state === "signed_in";
  const listing = model?.providers[0];
  const query = { model: model?.id, provider: listing?.provider };
  const options = { enabled: isSignedIn && listing !== undefined };
  const { data } = useAnswer("GET /api/console/verification", { query }, options);
  const trust = data?.listings[0];
  return trust === undefined ? undefined : verdictWord(trust);
}

function verdictWord(trust: ListingTrust): string {
  const billing = overbilledWords(trust.overbilled_percent);
  const words = [TRUST[trust.state].word, ...(billing === undefined ? [] : [billing])].join(", ");
  return trust.suspect === null ? words : `${words}, but live answers break its promises`;
}
