import { cloneElement, lazy, Suspense, useState, type ReactElement } from "react";

import type { MenuButtonProps } from "./opened-menu.tsx";

const OpenedMenu = lazy(() => import("./opened-menu.tsx"));

/** A button that opens a small window beside it; what that takes is loaded when it is first opened. */
export function MenuButton(props: MenuButtonProps): ReactElement {
  const [isWanted, setWanted] = useState(false);
  const closed = cloneElement(props.button, {
    "aria-haspopup": "dialog",
    "aria-expanded": false,
    onClick: () => setWanted(true),
  });
  if (!isWanted) return closed;
  return (
    <Suspense fallback={closed}>
      <OpenedMenu {...props} />
    </Suspense>
  );
}
