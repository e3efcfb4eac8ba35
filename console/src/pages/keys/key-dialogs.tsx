import { lazy, type ReactNode } from "react";

import type { Key } from "../../../../src/account/console-api/contract.ts";
import { WhenOpened } from "../../ui/when-opened.tsx";

const EditKeyDialog = lazy(() => import("./edit-key-dialog.tsx"));
const DisableKeyDialog = lazy(() => import("./disable-key-dialog.tsx"));

export function KeyDialogs(props: {
  readonly edited: Key | undefined;
  readonly disabled: Key | undefined;
  readonly onClose: () => void;
}): ReactNode {
  const { edited, disabled, onClose } = props;
  return (
    <>
      <WhenOpened opened={edited !== undefined}>
        <EditKeyDialog edited={edited} onClose={onClose} />
      </WhenOpened>
      <WhenOpened opened={disabled !== undefined}>
        <DisableKeyDialog disabled={disabled} onClose={onClose} />
      </WhenOpened>
    </>
  );
}
