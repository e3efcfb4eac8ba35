import { assert } from "../../core/assert.ts";
import { encodeImageRequest } from "./encode-image-request.ts";
import { ImageBridge } from "./image-bridge.ts";
import type { ImageRequest, ImageWire } from "./image-wire.ts";
import { ReadImageRequest, readImageRequest } from "./read-image-request.ts";
import { whyUnservable } from "./why-unservable.ts";

/** Images as the folders above see them. */
export const imageWire: ImageWire = {
  readImageRequest,
  whyUnservable: (request, deployment) => whyUnservable(asRead(request), deployment),
  encode: (request, deployment) => encodeImageRequest(asRead(request), deployment),
  openAnswer: (open) => {
    const { count, outputFormat } = asRead(open.request);
    return new ImageBridge(open, { count, outputFormat });
  },
};

function asRead(request: ImageRequest): ReadImageRequest {
  assert(request instanceof ReadImageRequest, "an image request is one that was read here");
  return request;
}
