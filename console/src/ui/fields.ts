import { ApiFault } from "../api/client.ts";

/** Properties of a text field or select whose value the page keeps in its state. */
export function controlled<T extends string>(value: T, onChange: (text: T) => void) {
  return {
    value,
    onChange: (event: { readonly currentTarget: { readonly value: string } }): void =>
      onChange(event.currentTarget.value as T),
  };
}

/** Properties of a checkbox or switch whose state the page keeps. */
export function checkable(checked: boolean, onChange: (isChecked: boolean) => void) {
  return {
    checked,
    onChange: (event: { readonly currentTarget: { readonly checked: boolean } }): void =>
      onChange(event.currentTarget.checked),
  };
}

/** Properties of a form that the page sends itself, without leaving its address. */
export function submitting(send: () => unknown) {
  return {
    onSubmit: (event: { preventDefault(): void }): void => {
      event.preventDefault();
      send();
    },
  };
}

/** The server's message if it is about the form's field `name`; otherwise undefined. */
export function fieldError(fault: unknown, name: string): string | undefined {
  return fault instanceof ApiFault && fault.field === name ? fault.message : undefined;
}
