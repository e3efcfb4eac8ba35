import type { PopoverProps } from "@mantine/core";
import { cloneElement, lazy, Suspense, useState, type ReactElement, type ReactNode } from "react";

const OpenedMenu = lazy(() => import("./opened-menu.tsx"));

export interface MenuButtonProps {
  /** What the window is called. */
  readonly label: string;
  readonly position: NonNullable<PopoverProps["position"]>;
  readonly button: ReactElement<{
    readonly onClick?: () => void;
    readonly "aria-haspopup"?: "dialog";
    readonly "aria-expanded"?: boolean;
  }>;
  readonly children: ReactNode;
}

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
