import { Button, Group, Stack } from "@mantine/core";
import { useState, type ComponentType, type ReactNode, type SyntheticEvent } from "react";

import type { ApiFault } from "../../api/client.ts";
import { Banner } from "../../ui/banner.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Fault } from "../../ui/fault.tsx";
import kit from "../../ui/kit.module.css";
import { isConfirmNeeded, type Submission } from "./use-submission.ts";

export interface Closable {
  readonly onClose: () => void;
}

/** Returns a dialog with the form `Form`. The form starts empty each time the dialog opens. */
export function inDialog<P extends Closable>(
  title: string | ((props: P) => string),
  Form: ComponentType<P>,
): ComponentType<P & { readonly opened: boolean }> {
  return function FormDialog(props) {
    const { opened, onClose } = props;
    return (
      <Dialog {...{ opened, onClose }} title={typeof title === "string" ? title : title(props)}>
        <Form {...props} />
      </Dialog>
    );
  };
}

/**
 * A form with its buttons. The form's own fields show a refusal that names one of `fields`; any
 * other refusal is shown above the buttons.
 */
export function DialogForm(props: {
  readonly submission: Submission;
  readonly fields: readonly string[];
  readonly submitLabel: string;
  readonly onSubmit: () => void;
  readonly onCancel: () => void;
  readonly children: ReactNode;
}): ReactNode {
  const { submission } = props;
  const isQuestion = isConfirmNeeded(submission.fault);
  const submit = (event: SyntheticEvent): void => {
    event.preventDefault();
    props.onSubmit();
  };
  return (
    <form onSubmit={submit} onInput={() => submission.forget()} noValidate>
      <Stack gap="md">
        {props.children}
        <UnplacedFault fault={submission.fault} fields={props.fields} />
        <Group justify="flex-end" gap="sm" className={kit.formEnd}>
          <Button variant="default" onClick={props.onCancel}>
            Cancel
          </Button>
          <Button
            type="submit"
            loading={submission.isBusy}
            {...(isQuestion ? { color: "red.9" } : {})}
          >
            {isQuestion ? "Set it anyway" : props.submitLabel}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

/**
 * Fields that are rarely needed. They are folded until the reader opens them, or until `isTelling`
 * says that one of them has a problem.
 */
export function MoreFields(props: {
  readonly label: string;
  readonly isTelling: boolean;
  readonly children: ReactNode;
}): ReactNode {
  const [isOpen, setOpen] = useState(false);
  return (
    <details
      open={isOpen || props.isTelling}
      onToggle={(event) => setOpen(event.currentTarget.open)}
      className={kit.more}
    >
      <summary>{props.label}</summary>
      <Stack gap="md" mt="sm">
        {props.children}
      </Stack>
    </details>
  );
}

/** Shows a refusal, unless it names one of `fields`: that field then shows it. */
export function UnplacedFault(props: {
  readonly fault: ApiFault | undefined;
  readonly fields: readonly string[];
}): ReactNode {
  const { fault, fields } = props;
  if (fault === undefined || fields.includes(fault.field ?? "")) return null;
  if (isConfirmNeeded(fault)) {
    return (
      <div role="alert" ref={(question) => question?.scrollIntoView({ block: "nearest" })}>
        <Banner tone="warn">{fault.message}</Banner>
      </div>
    );
  }
  return <Fault error={fault} />;
}
