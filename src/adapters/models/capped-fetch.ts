// A fetch that never hands out more than a fixed number of response bytes, so that a broken or hostile endpoint cannot
// fill the worker's memory. Adds nothing to a request.

/** Most bytes of one response body. */
export const MAX_RESPONSE_BYTES = 8 * 1024 * 1024;

/** Thrown into the body's reader; provider-failures.ts knows the code. */
class ResponseTooLarge extends Error {
  readonly code = 'RESPONSE_TOO_LARGE';
}

/** Node's fetch with a cap on the body. */
export const cappedFetch: typeof globalThis.fetch = async (input, init) => {
  const response = await globalThis.fetch(input, init);
  if (!response.body) return response;
  let bytes = 0;
  const cap = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.byteLength;
      if (bytes > MAX_RESPONSE_BYTES) controller.error(new ResponseTooLarge(`More than ${MAX_RESPONSE_BYTES} bytes.`));
      else controller.enqueue(chunk);
    },
  });
  return new Response(response.body.pipeThrough(cap), { status: response.status, statusText: response.statusText, headers: response.headers });
};
