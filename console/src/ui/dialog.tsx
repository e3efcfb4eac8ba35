import type { ModalProps } from "@mantine/core";
import { lazy, type ReactElement } from "react";

import { WhenOpened } from "./when-opened.tsx";

const LoadedDialog = lazy(() => import("./loaded-dialog.tsx"));

/** A dialog. The library's part of it is loaded when the first one opens. */
export function Dialog(props: ModalProps): ReactElement {
  return (
    <WhenOpened opened={props.opened}>
      <LoadedDialog {...props} />
    </WhenOpened>
  );
}
