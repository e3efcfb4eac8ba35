import { Button, Group, TextInput } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useState, type ReactElement, type SyntheticEvent } from "react";

import { findId } from "../../app/find-id.ts";

export function FindRequest(): ReactElement {
  const navigate = useNavigate();
  const [typed, setTyped] = useState("");
  const [problem, setProblem] = useState<string>();
  const submit = (event: SyntheticEvent): void => {
    event.preventDefault();
    const place = findId(typed);
    if (place?.label === "Request") void navigate({ to: place.to, params: place.params });
    else setProblem("Paste the whole x-request-id, such as 0193a5b0-1234-7abc-9def-0123456789ab.");
  };
  return (
    <form onSubmit={submit} noValidate>
      <Group gap="xs" align="flex-start" wrap="nowrap">
        <TextInput
          aria-label="Find a request by its ID"
          placeholder="Request ID"
          size="xs"
          w="14rem"
          maw="100%"
          spellCheck={false}
          maxLength={200}
          value={typed}
          onChange={(event) => {
            setTyped(event.currentTarget.value);
            setProblem(undefined);
          }}
          error={problem}
        />
        <Button type="submit" size="xs" variant="default">
          Find
        </Button>
      </Group>
    </form>
  );
}
