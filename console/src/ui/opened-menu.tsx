import { Popover, type PopoverProps } from "@mantine/core";
import {
  cloneElement,
  useEffect,
  useRef,
  useState,
  type ReactElement,
  type ReactNode,
  type Ref,
} from "react";

import { defined } from "../../../src/kernel/core/defined.ts";

export interface MenuButtonProps {
  readonly label: string;
  readonly position: NonNullable<PopoverProps["position"]>;
  readonly button: ReactElement<{
    readonly onClick?: () => void;
    readonly "aria-haspopup"?: "dialog";
    readonly "aria-expanded"?: boolean;
  }>;
  /** Width and padding in pixels. If they are undefined, Mantine's defaults apply. */
  readonly width?: number;
  readonly padding?: number;
  readonly children: ReactNode | ((close: () => void) => ReactNode);
}

/** Mounts closed with the focus on its button, then opens, so that closing restores the focus. */
export default function OpenedMenu(props: MenuButtonProps) {
  const [isOpen, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    button.current?.focus();
    setOpen(true);
  }, []);
  const shown = props.button as ReactElement<{
    readonly ref?: Ref<HTMLButtonElement>;
    readonly onClick?: () => void;
  }>;
  return (
    <Popover
      opened={isOpen}
      onChange={setOpen}
      position={props.position}
      {...defined({ width: props.width })}
      shadow="md"
      trapFocus
      returnFocus
    >
      <Popover.Target>
        {cloneElement(shown, { ref: button, onClick: () => setOpen((now) => !now) })}
      </Popover.Target>
      <Popover.Dropdown aria-label={props.label} {...defined({ p: props.padding })}>
        {typeof props.children === "function"
          ? props.children(() => setOpen(false))
          : props.children}
      </Popover.Dropdown>
    </Popover>
  );
}
