import type { ModalProps } from "@mantine/core";
import { lazy, Suspense, useState, type ReactNode } from "react";

const LoadedDialog = lazy(() => import("./loaded-dialog.tsx"));

/** A modal dialog. Mantine's code for it is loaded when the first dialog opens. */
export function Dialog(props: ModalProps) {
  return (
    <WhenOpened opened={props.opened}>
      <LoadedDialog {...props} />
    </WhenOpened>
  );
}

/** Mounts (and so loads) its content when first opened, and keeps it for its closing transition. */
export function WhenOpened(props: { readonly opened: boolean; readonly children: ReactNode }) {
  const { opened } = props;
  const [wasOpened, setWasOpened] = useState(opened);
  if (opened && !wasOpened) setWasOpened(true);
  return wasOpened ? <Suspense>{props.children}</Suspense> : null;
}
