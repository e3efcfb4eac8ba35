import type { ReactElement, ReactNode } from "react";

import styles from "./table.module.css";

/* These parts are plain elements instead of Mantine's, because a table shows dozens of rows, and
   sorting redraws all of them. */

export function RowLine(props: {
  readonly isEnd?: boolean;
  readonly className?: string | undefined;
  readonly children: ReactNode;
}): ReactElement {
  const names = [styles.line, props.isEnd === true ? styles.lineEnd : "", props.className ?? ""];
  return <div className={names.filter((name) => name !== "").join(" ")}>{props.children}</div>;
}

/** A button with an icon. `label`, its accessible name, must name both the action and the row. */
export function RowButton(props: {
  readonly label: string;
  readonly isQuiet?: boolean;
  readonly autoFocus?: boolean;
  readonly disabled?: boolean;
  readonly onClick: () => void;
  readonly children: ReactNode;
}): ReactElement {
  return (
    <button
      type="button"
      className={props.isQuiet === true ? `${styles.button} ${styles.quiet}` : styles.button}
      aria-label={props.label}
      autoFocus={props.autoFocus}
      disabled={props.disabled}
      onClick={props.onClick}
    >
      {props.children}
    </button>
  );
}
