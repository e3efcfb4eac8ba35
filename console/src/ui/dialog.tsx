import type { ModalProps } from "@mantine/core";
import { lazy, type ReactElement } from "react";

import { WhenOpened } from "./when-opened.tsx";

const LoadedDialog = lazy(() => import("./loaded-dialog.tsx"));

/** A modal dialog. Mantine's code for it is loaded when the first dialog opens. */
export function Dialog(props: ModalProps): ReactElement {
  return (
    <WhenOpened opened={props.opened}>
      <LoadedDialog {...props} />
    </WhenOpened>
  );
}
