import { Fragment, type ReactElement, type ReactNode } from "react";

import kit from "./kit.module.css";

export function Facts(props: {
  readonly facts: readonly (readonly [label: string, value: ReactNode])[];
}): ReactElement {
  return (
    <dl className={kit.facts}>
      {props.facts.map(([label, value]) => (
        <Fragment key={label}>
          <dt>{label}</dt>
          <dd>{value}</dd>
        </Fragment>
      ))}
    </dl>
  );
}
