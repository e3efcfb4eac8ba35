import { Skeleton } from "@mantine/core";
import { lazy, Suspense, type ReactNode } from "react";

import type { ModelsFieldProps } from "./models-select.tsx";

const ModelsSelect = lazy(() => import("./models-select.tsx"));

/** The field for a key's models. Its code is loaded when the form opens, not with the page. */
export function ModelsField(props: ModelsFieldProps): ReactNode {
  return (
    <Suspense fallback={<Skeleton height={FIELD_PX} />}>
      <ModelsSelect {...props} />
    </Suspense>
  );
}

const FIELD_PX = 76;
