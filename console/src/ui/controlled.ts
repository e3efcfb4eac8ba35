interface Changed {
  readonly currentTarget: { readonly value: string };
}

/** Returns the properties of a text field or select whose value the page keeps in its state. */
export function controlled<T extends string>(value: T, onChange: (text: T) => void) {
  return {
    value,
    onChange: ({ currentTarget }: Changed): void => onChange(currentTarget.value as T),
  };
}
