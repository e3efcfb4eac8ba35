import { cloneElement, lazy, Suspense, useState, type ReactNode } from "react";

import type { MenuButtonProps } from "./opened-menu.tsx";

const OpenedMenu = lazy(() => import("./opened-menu.tsx"));

/** A button that opens a small window next to it. Mantine's code is loaded at the first click. */
export function MenuButton(props: MenuButtonProps) {
  return (
    <LoadedOnClick button={props.button}>
      <OpenedMenu {...props} />
    </LoadedOnClick>
  );
}

/**
 * Shows a button. At a click, loads `children`, which are the opened menu with its own button; the
 * first button stays until they are loaded.
 */
export function LoadedOnClick(props: {
  readonly button: MenuButtonProps["button"];
  readonly children: ReactNode;
}) {
  const [isWanted, setWanted] = useState(false);
  const closed = cloneElement(props.button, {
    "aria-haspopup": "dialog",
    "aria-expanded": false,
    onClick: () => setWanted(true),
  });
  return isWanted ? <Suspense fallback={closed}>{props.children}</Suspense> : closed;
}
