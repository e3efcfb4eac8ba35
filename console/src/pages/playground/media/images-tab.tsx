import { Skeleton, Stack, Text } from "@mantine/core";

import { useSession } from "../../../api/use-answer.ts";
import { DownloadLink } from "../../../ui/buttons.tsx";
import { Empty } from "../../../ui/empty.tsx";
import { CallFigures } from "../call-figures.tsx";
import { BrowserShelf, newId, useShelf, type Kept } from "../browser-store.ts";
import { sendJson, type JsonAnswer } from "../gateway.ts";
import type { TabProps } from "../tab-props.ts";
import classes from "../playground.module.css";
import { readPictures, type Picture } from "./media-answer.ts";
import { MediaForm } from "./media-form.tsx";
import { Note } from "../../../ui/page.tsx";

/** Parameters without a field, because the tab needs whole answers that contain the images. */
const HIDDEN = new Set(["response_format", "stream", "partial_images"]);
/** Maximum number of requests whose images are stored. It is small, because images are large. */
const CALLS_MAX = 12;

interface ImageCall extends Kept, Pick<JsonAnswer, "costUsd" | "provider" | "requestId"> {
  readonly prompt: string;
  readonly modelName: string;
  readonly pictures: readonly Picture[];
}

const shelf = new BrowserShelf<ImageCall>("images", CALLS_MAX);

export default function ImagesTab(props: TabProps) {
  const orgId = useSession().org?.org_id ?? "";
  const { records: calls = [], keep, isSaved } = useShelf(shelf, orgId);
  return (
    <MediaForm
      tab={props}
      title="Images"
      modality="image"
      placeholder="Describe the image"
      example="A red bicycle on a white wall"
      hidden={HIDDEN}
      make={async ({ body, modelName, signal }) => {
        const answer = await sendJson("/images/generations", { body, signal });
        const { json, costUsd, provider, requestId } = answer;
        keep({
          id: newId(),
          orgId,
          updatedAtMs: Date.now(),
          prompt: body.prompt,
          modelName,
          pictures: readPictures(json, requestId),
          costUsd,
          provider,
          requestId,
        });
      }}
    >
      {(running, isFailed) => (
        <>
          {running === undefined ? null : <Waiting count={running.body["n"]} />}
          {calls.length === 0 && running === undefined && !isFailed ? (
            <Empty title="Your images appear here. A request returns all of them or costs nothing." />
          ) : null}
          {calls.map((call) => (
            <Pictures key={call.id} call={call} />
          ))}
          <Note size="xs">
            {isSaved
              ? `Your last ${CALLS_MAX} requests are kept in this browser. Download the ones you want to keep for longer.`
              : "This browser cannot keep images. Download the ones you want to keep before you leave this page."}
          </Note>
        </>
      )}
    </MediaForm>
  );
}

function Waiting({ count }: { readonly count: unknown }) {
  return (
    <div className={classes.gallery} role="status" aria-label="Generating images">
      {Array.from({ length: typeof count === "number" ? count : 1 }, (_none, at) => (
        <Skeleton key={at} className={classes.waiting} />
      ))}
    </div>
  );
}

function Pictures({ call }: { readonly call: ImageCall }) {
  return (
    <Stack gap="xs" component="article" aria-label={call.prompt}>
      <Text size="sm" className={classes.prose}>
        {call.prompt}
      </Text>
      <div className={classes.gallery}>
        {call.pictures.map(({ dataUrl, fileName }, at) => (
          <figure key={fileName} className={classes.picture}>
            <img src={dataUrl} alt={`${call.prompt}, image ${at + 1}`} />
            <figcaption>
              <DownloadLink href={dataUrl} fileName={fileName} label={`Download image ${at + 1}`}>
                Download
              </DownloadLink>
            </figcaption>
          </figure>
        ))}
      </div>
      <CallFigures call={call}>
        <span>{call.modelName}</span>
      </CallFigures>
    </Stack>
  );
}
