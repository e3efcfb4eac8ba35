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

export interface MenuButtonProps {
  /** The name of the window. */
  readonly label: string;
  readonly position: NonNullable<PopoverProps["position"]>;
  readonly button: ReactElement<{
    readonly onClick?: () => void;
    readonly "aria-haspopup"?: "dialog";
    readonly "aria-expanded"?: boolean;
  }>;
  readonly children: ReactNode;
}

/** It opens when it is there, from its own button, which has the focus again when it closes. */
export default function OpenedMenu(props: MenuButtonProps): ReactElement {
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
      shadow="md"
      withinPortal
      trapFocus
      returnFocus
    >
      <Popover.Target>
        {cloneElement(shown, { ref: button, onClick: () => setOpen((now) => !now) })}
      </Popover.Target>
      <Popover.Dropdown aria-label={props.label}>{props.children}</Popover.Dropdown>
    </Popover>
  );
}
