import { Button } from "@mantine/core";
import type { ReactElement } from "react";

import type { Model } from "../../../../src/account/console-api/contract.ts";
import { AppLink } from "../../ui/app-link.tsx";
import kit from "../../ui/kit.module.css";
import { NameLine } from "../../ui/name-line.tsx";
import { compareFacts, type FactCell } from "./compare-facts.ts";
import styles from "./models.module.css";
import { useFirstVerdicts } from "./use-first-verdicts.ts";
import { useServed } from "./use-served.ts";

/** The models side by side, with a column for each model and a line for each fact. */
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
