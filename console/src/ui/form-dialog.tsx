import { Button, Group, Stack } from "@mantine/core";
import { useState, type ComponentType, type ReactNode, useRef } from "react";
import { useQueryClient } from "@tanstack/react-query";

import { ApiFault } from "../api/client.ts";
import { Banner } from "./banner.tsx";
import { Dialog } from "./dialog.tsx";
import { Fault } from "./answer.tsx";
import kit from "./kit.module.css";
import { isAnswerLost, rereadSession } from "../api/use-answer.ts";
import { controlled, fieldError, submitting } from "./fields.ts";

interface Closable {
  readonly onClose: () => void;
}

/** Returns a dialog with the form `Form`. The form starts anew each time the dialog opens. */
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

export type Problems = Readonly<Partial<Record<string, string>>>;

export interface Form<T> {
  readonly typed: T;
  readonly problems: Problems;
  readonly submission: Submission;
  /** Names of the fields that show their own problems. Each is added when its field is rendered. */
  readonly placed: ReadonlySet<string>;
  readonly set: (changed: Partial<T>) => void;
  readonly setProblems: (problems: Problems) => void;
  /** The problem at a field, found by the page or by the server. The field must then show it. */
  readonly errorOf: (field: string) => string | undefined;
  /** Returns the properties of the text field of `name`, which the API calls `field`. */
  readonly text: (
    name: keyof T & string,
    field?: string,
  ) => ReturnType<typeof controlled<string>> & { readonly error: string | undefined };
}

/** After a change, `stillWrong` returns the problems that remain. */
export function useForm<T extends object>(
  first: T,
  stillWrong: (problems: Problems, changed: Partial<T>) => Problems = keepOthers,
): Form<T> {
  const submission = useSubmission();
  const [typed, setTyped] = useState(first);
  const [problems, setProblems] = useState<Problems>({});
  const placed = new Set<string>();
  const set = (changed: Partial<T>): void => {
    setTyped((before) => ({ ...before, ...changed }));
    setProblems((before) => stillWrong(before, changed));
  };
  const errorOf = (field: string): string | undefined => {
    placed.add(field);
    return problems[field] ?? fieldError(submission.fault, field);
  };
  const text: Form<T>["text"] = (name, field = name) => ({
    ...controlled(String(typed[name]), (value) => set({ [name]: value } as Partial<T>)),
    error: errorOf(field),
  });
  return { typed, problems, submission, placed, set, setProblems, errorOf, text };
}

function keepOthers(problems: Problems, changed: object): Problems {
  return Object.fromEntries(Object.entries(problems).filter(([name]) => !(name in changed)));
}

/** A form with its buttons. A refusal that no field shows is shown above the buttons. */
export function DialogForm(props: {
  readonly form: Pick<Form<never>, "submission" | "placed">;
  readonly submitLabel: string;
  readonly onSubmit: () => void;
  readonly onCancel: () => void;
  readonly children: ReactNode;
}) {
  const { submission, placed } = props.form;
  const isQuestion = isConfirmNeeded(submission.fault);
  return (
    <form {...submitting(props.onSubmit)} onInput={() => submission.forget()} noValidate>
      <Stack gap="md">
        {props.children}
        <UnplacedFault fault={submission.fault} placed={placed} />
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
}) {
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

/** Shows a refusal, unless one of the fields in `placed` shows it. */
export function UnplacedFault(props: {
  readonly fault: ApiFault | undefined;
  readonly placed?: ReadonlySet<string> | undefined;
}) {
  const { fault, placed } = props;
  if (fault === undefined || placed?.has(fault.field ?? "") === true) return null;
  if (isConfirmNeeded(fault)) {
    return (
      <div role="alert" ref={(question) => question?.scrollIntoView({ block: "nearest" })}>
        <Banner tone="warn">{fault.message}</Banner>
      </div>
    );
  }
  return <Fault error={fault} />;
}

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
 * Tells whether the reader has confirmed the change `asked`: the server refused exactly this change
 * and the reader sends it again. The texts are compared, because a form can change meanwhile.
 */
export function useConfirmation({ fault }: Submission): (asked: string) => boolean {
  const sent = useRef<string>(undefined);
  return (asked) => {
    const isSame = asked === sent.current;
    sent.current = asked;
    return isSame && isConfirmNeeded(fault);
  };
}

/** The last defined value, so that a dialog that fades out keeps its content. */
export function useLast<T>(value: T | undefined): T | undefined {
  const last = useRef(value);
  if (value !== undefined) last.current = value;
  return last.current;
}

interface Submission {
  readonly isBusy: boolean;
  /** The last refusal; undefined once the form is sent again or `forget` was called. */
  readonly fault: ApiFault | undefined;
  /** Drops the refusal after the form was changed. */
  forget(): void;
  /** Sends the form; does nothing while it is already being sent. */
  run(send: () => Promise<void>): void;
}

/** Sends a form without React Query, which would keep its secrets in memory for minutes. */
export function useSubmission(): Submission {
  const [fault, setFault] = useState<ApiFault>();
  const [isBusy, setIsBusy] = useState(false);
  const isRunning = useRef(false);
  const client = useQueryClient();
  const fail = (error: unknown): void => {
    const failure = error instanceof ApiFault ? error : new ApiFault(0, undefined);
    setFault(failure);
    // Reads all answers again, so that the page behind the form shows whether the change was made.
    if (isAnswerLost(failure)) void client.invalidateQueries();
    rereadSession(client, failure);
  };
  return {
    isBusy,
    fault,
    forget: () => setFault(undefined),
    run(send) {
      if (isRunning.current) return;
      isRunning.current = true;
      setIsBusy(true);
      setFault(undefined);
      void send()
        .catch(fail)
        .finally(() => {
          isRunning.current = false;
          setIsBusy(false);
        });
    },
  };
}

/** True if the change would stop requests at once and must be sent again with `confirm`. */
function isConfirmNeeded(fault: ApiFault | undefined): boolean {
  return fault?.code === "confirm_needed";
}
