import { Modal, type ModalProps } from "@mantine/core";
import { useEffect, useState, type ReactElement } from "react";

/**
 * It opens after it is there, not with it: only then does the library note what had the focus, which
 * has it again when the dialog closes.
 */
export default function LoadedDialog(props: ModalProps): ReactElement {
  const [isThere, setThere] = useState(false);
  useEffect(() => setThere(true), []);
  return <Modal {...props} opened={props.opened && isThere} />;
}
