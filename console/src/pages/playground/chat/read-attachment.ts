import type { Attachment } from "./chat-types.ts";

export const ATTACHMENTS_MAX = 8;
/** Of all files of a message: as text they grow by a third, and a request has 10 MB at most. */
export const ATTACHMENT_BYTES_MAX = 6_000_000;

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

/** For the file dialog: the types of these kinds. */
export function acceptedTypes(kinds: readonly Attachment["kind"][]): string {
  return Object.keys(KINDS)
    .filter((type) => kinds.includes(KINDS[type] ?? "file"))
    .join(",");
}

/** Why these files cannot be added to what is attached; undefined: they can. */
export function attachmentProblem(
  files: readonly Pick<File, "name" | "type" | "size">[],
  attached: readonly Attachment[],
  kinds: readonly Attachment["kind"][],
): string | undefined {
  const wrong = files.find(({ type }) => {
    const kind = KINDS[type];
    return kind === undefined || !kinds.includes(kind);
  });
  if (wrong !== undefined) return `The selected models do not accept files like ${wrong.name}.`;
  if (files.length + attached.length > ATTACHMENTS_MAX) {
    return `Attach at most ${ATTACHMENTS_MAX} files.`;
  }
  const bytes =
    files.reduce((sum, { size }) => sum + size, 0) +
    attached.reduce((sum, { dataUrl }) => sum + Math.ceil((dataUrl.length * 3) / 4), 0);
  return bytes > ATTACHMENT_BYTES_MAX
    ? "Attachments can be at most 6 MB in total. Choose smaller files."
    : undefined;
}

export async function readAttachment(file: File): Promise<Attachment> {
  const dataUrl = await new Promise<string>((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => {
      if (typeof reader.result === "string") resolve(reader.result);
    });
    reader.addEventListener("error", () => reject(new Error(`${file.name} cannot be read`)));
    reader.readAsDataURL(file);
  });
  return { kind: KINDS[file.type] ?? "file", name: file.name, dataUrl };
}
