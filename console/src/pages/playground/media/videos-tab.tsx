import { Group, Progress, Stack, Text } from "@mantine/core";
import { Trash2 } from "lucide-react";

import { useSession } from "../../../api/use-answer.ts";
import { StatusBadge, type Tone } from "../../../ui/badge.tsx";
import { Copyable } from "../../../ui/copyable.tsx";
import { DownloadLink } from "../../../ui/buttons.tsx";
import { Empty } from "../../../ui/empty.tsx";
import { Time } from "../../../ui/time.tsx";
import { CallFigures, IconButton } from "../call-figures.tsx";
import { contentAddress } from "../gateway.ts";
import type { TabProps } from "../tab-props.ts";
import classes from "../playground.module.css";
import { MediaForm } from "./media-form.tsx";
import { useVideos } from "./use-videos.ts";
import { failureMessage, type VideoJob } from "./media-answer.ts";
import { Note } from "../../../ui/page.tsx";

export default function VideosTab(props: TabProps) {
  const { jobs, make, forget } = useVideos(useSession().org?.org_id ?? "");
  return (
    <MediaForm
      tab={props}
      title="Videos"
      modality="video"
      placeholder="Describe the video"
      example="Waves at a beach, seen from above"
      make={make}
    >
      {(_running, isFailed) => (
        <>
          {jobs.length === 0 && !isFailed ? (
            <Empty title="Your videos appear here. The maximum cost of a video is held until it is ready." />
          ) : null}
          {jobs.map((job) => (
            <Job key={job.id} job={job} onForget={forget} />
          ))}
          <Note size="xs">
            This list is kept in this browser only. A job continues after you leave. The provider
            keeps its file for a limited time: download it before it expires.
          </Note>
        </>
      )}
    </MediaForm>
  );
}

function Job(props: { readonly job: VideoJob; readonly onForget: (id: string) => void }) {
  const { job } = props;
  const [tone, words] = STATES[job.status];
  return (
    <Stack gap="xs" component="article" className={classes.answer} aria-label={job.prompt}>
      <Group justify="space-between" wrap="nowrap" align="flex-start">
        <Text size="sm" className={classes.prose}>
          {job.prompt}
        </Text>
        <Group gap={4} wrap="nowrap">
          <StatusBadge tone={tone}>{words}</StatusBadge>
          <IconButton
            icon={Trash2}
            label={`Remove ${job.prompt} from this list`}
            onClick={() => props.onForget(job.id)}
          />
        </Group>
      </Group>
      <JobBody job={job} />
      <CallFigures call={job}>
        <span>{job.modelName}</span>
        {job.seconds === undefined ? null : <span>{job.seconds} s</span>}
        <Time at={new Date(job.createdAtMs).toISOString()} />
        {job.expiresAtMs === null || job.status !== "completed" ? null : (
          <span>
            file until <Time at={new Date(job.expiresAtMs).toISOString()} />
          </span>
        )}
        <Copyable value={job.id} label="video ID" short />
      </CallFigures>
    </Stack>
  );
}

const STATES: Readonly<Record<VideoJob["status"], readonly [Tone, string]>> = {
  queued: ["quiet", "Queued"],
  in_progress: ["quiet", "In progress"],
  completed: ["ok", "Completed"],
  failed: ["bad", "Failed"],
};

function JobBody({ job }: { readonly job: VideoJob }) {
  if (job.status === "failed") {
    return (
      <Text size="sm">
        {failureMessage(job.errorCode)}{" "}
        {job.errorCode === undefined ? null : <code>{job.errorCode}</code>}
      </Text>
    );
  }
  if (job.status === "completed") {
    return (
      <>
        <video
          className={classes.player}
          controls
          preload="none"
          src={contentAddress(job.id)}
          aria-label={job.prompt}
        />
        <div>
          <DownloadLink href={contentAddress(job.id)} fileName={`${job.id}.mp4`}>
            Download
          </DownloadLink>
        </div>
      </>
    );
  }
  return (
    <Progress.Root size="lg">
      <Progress.Section
        value={Math.max(2, job.progress)}
        aria-label={`${job.progress} percent done`}
        animated
      />
    </Progress.Root>
  );
}
