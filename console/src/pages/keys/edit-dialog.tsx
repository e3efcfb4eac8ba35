import { useRef, type ComponentType } from "react";

import { Dialog } from "../../ui/dialog.tsx";
import type { Closable } from "./form-dialog.tsx";
import { useLast } from "./use-last.ts";
import { isConfirmNeeded, type Submission } from "./use-submission.ts";

export interface EditProps<T> extends Closable {
  readonly edited: T;
}

/**
 * Returns a dialog with the form `Form`. It is open while `edited` is defined. If `id(edited)`
 * changes, the form starts anew.
 */
export function editDialog<T>(
  title: (edited: T) => string,
  Form: ComponentType<EditProps<T>>,
  id: (edited: T) => string = title,
): ComponentType<EditProps<T | undefined>> {
  return function FormDialog({ edited, onClose }) {
    const shown = useLast(edited);
    return (
      <Dialog
        opened={edited !== undefined}
        title={shown === undefined ? "" : title(shown)}
        onClose={onClose}
      >
        {shown === undefined ? null : <Form key={id(shown)} edited={shown} onClose={onClose} />}
      </Dialog>
    );
  };
}

/**
 * Returns a function that tells whether the reader has confirmed the change `asked`. That is so if
 * the server refused exactly this change and the reader sends it again. The texts are compared,
 * because a form can change while it is being sent.
 */
export function useConfirmation({ fault }: Submission): (asked: string) => boolean {
  const sent = useRef<string>(undefined);
  return (asked) => {
    const isSame = asked === sent.current;
    sent.current = asked;
    return isSame && isConfirmNeeded(fault);
  };
}
