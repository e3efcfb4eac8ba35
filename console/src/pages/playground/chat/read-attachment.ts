import { formatCount } from "../../../ui/format.ts";
import type { Attachment } from "./chat-types.ts";

export const ATTACHMENTS_MAX = 8;
/**
 * Maximum size of all files of a conversation together, because every request sends all of them.
 * Base64 adds a third, and a request body can be at most 10 MiB long.
 */
export const ATTACHMENT_BYTES_MAX = 6_000_000;
/** Maximum length of either side of an image. Providers refuse larger images. */
export const IMAGE_SIDE_PX_MAX = 8_000;

const KINDS: Readonly<Record<string, Attachment["kind"]>> = {
  "image/png": "image",
  "image/jpeg": "image",
  "image/webp": "image",
  "image/gif": "image",
  "application/pdf": "file",
  "audio/wav": "audio",
  "audio/x-wav": "audio",
  "audio/mpeg": "audio",
  "audio/mp3": "audio",
};

const WORDS = {
  image: { files: "images", formats: "PNG, JPEG, WebP and GIF images" },
  file: { files: "PDF files", formats: "PDF files" },
  audio: { files: "audio", formats: "WAV and MP3 audio" },
} as const;

export function acceptedTypes(kinds: readonly Attachment["kind"][]): string {
  return Object.keys(KINDS)
    .filter((type) => kinds.includes(KINDS[type] ?? "file"))
    .join(",");
}

interface AttachedBefore {
  readonly attached: readonly Attachment[];
  /** Files of earlier messages. Every request sends them again. */
  readonly sent: readonly Attachment[];
}

export function attachmentProblem(
  files: readonly Pick<File, "name" | "type" | "size">[],
  before: AttachedBefore,
  kinds: readonly Attachment["kind"][],
): string | undefined {
  const wrong = files.find(({ type }) => {
    const kind = KINDS[type];
    return kind === undefined || !kinds.includes(kind);
  });
  if (wrong !== undefined) {
    const accepted = kinds.map((kind) => WORDS[kind].formats).join("; ");
    return `${wrong.name} cannot be attached. The selected models accept ${accepted}.`;
  }
  const empty = files.find(({ size }) => size === 0);
  if (empty !== undefined) return `${empty.name} is empty. Choose another file.`;
  if (files.length + before.attached.length > ATTACHMENTS_MAX) {
    return `A message can have at most ${ATTACHMENTS_MAX} files. Choose fewer.`;
  }
  return sizeProblem(files, before);
}

function sizeProblem(
  files: readonly Pick<File, "size">[],
  { attached, sent }: AttachedBefore,
): string | undefined {
  const sentBytes = countBytes(sent);
  const bytes = files.reduce((sum, { size }) => sum + size, countBytes(attached)) + sentBytes;
  if (bytes <= ATTACHMENT_BYTES_MAX) return undefined;
  const found = `Attachments would be ${megabytes(bytes)} in total, and at most ${megabytes(ATTACHMENT_BYTES_MAX)} can be sent.`;
  return sentBytes === 0
    ? `${found} Choose smaller files.`
    : `${found} Earlier messages count too: start a new conversation, or choose smaller files.`;
}

function countBytes(attached: readonly Attachment[]): number {
  return attached.reduce((sum, { dataUrl }) => sum + Math.ceil((dataUrl.length * 3) / 4), 0);
}

function megabytes(bytes: number): string {
  return `${Math.ceil(bytes / 100_000) / 10} MB`;
}

export type Decode = (file: File) => Promise<{ readonly width: number; readonly height: number }>;

/** If the file cannot be sent, returns a sentence that says why. */
export async function readAttachment(
  file: File,
  decode: Decode = decodeInBrowser,
): Promise<Attachment | string> {
  const kind = KINDS[file.type] ?? "file";
  const problem = kind === "image" ? await imageProblem(file, decode) : undefined;
  if (problem !== undefined) return problem;
  try {
    return { kind, name: file.name, dataUrl: await readAsDataUrl(file) };
  } catch {
    return `${file.name} could not be read. Choose it again.`;
  }
}

async function imageProblem(file: File, decode: Decode): Promise<string | undefined> {
  const size = await decode(file).catch(() => undefined);
  if (size === undefined) {
    return `${file.name} is damaged or not an image. Open it in an image editor and save it again.`;
  }
  const { width, height } = size;
  return Math.max(width, height) > IMAGE_SIDE_PX_MAX
    ? `${file.name} is ${formatCount(width)} by ${formatCount(height)} pixels, and models accept at most ${formatCount(IMAGE_SIDE_PX_MAX)} on a side. Make it smaller.`
    : undefined;
}

async function decodeInBrowser(file: File): Promise<{ width: number; height: number }> {
  const bitmap = await createImageBitmap(file);
  const { width, height } = bitmap;
  bitmap.close();
  return { width, height };
}

async function readAsDataUrl(file: File): Promise<string> {
  return await new Promise<string>((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => {
      if (typeof reader.result === "string") resolve(reader.result);
    });
    reader.addEventListener("error", () => reject(new Error(`${file.name} cannot be read`)));
    reader.readAsDataURL(file);
  });
}

/** The problem if a message has a file that the model does not accept; else undefined. */
export function untakenProblem(
  model: { readonly name: string; readonly input_modalities: readonly string[] },
  turns: readonly { readonly attachments: readonly Attachment[] }[],
): string | undefined {
  const untaken = turns
    .flatMap(({ attachments }) => attachments)
    .find(({ kind }) => !model.input_modalities.includes(kind));
  if (untaken === undefined) return undefined;
  return `${model.name} does not accept ${WORDS[untaken.kind].files}, and this conversation has ${untaken.name}. Choose another model or start a new conversation.`;
}

export function untakenBy(
  models: readonly Parameters<typeof untakenProblem>[0][],
  turns: Parameters<typeof untakenProblem>[1],
): string | undefined {
  return models.map((model) => untakenProblem(model, turns)).find((each) => each !== undefined);
}
