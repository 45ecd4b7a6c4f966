// The address of a store of artifacts: `s3://BUCKET/PREFIX`, with `?endpoint=`, `?region=` and `?path-style=` for what the AWS SDK's own
// variables do not say, or the path of a folder that all workers share. Keeps no credentials: those are the SDK's.
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { StoreError } from './store-error';

export interface BucketAddress {
  bucket: string;
  /** Ends with a slash, or is empty. */
  prefix: string;
  endpoint?: string;
  region?: string;
  /** The bucket stands in the path, not in the name of the host. */
  pathStyle: boolean;
  /** How sentences name it. */
  place: string;
}

const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;

/** Throws StoreError `address` with what to write instead. */
export function artifactsAddress(text: string, env: NodeJS.ProcessEnv): BucketAddress | { folder: string } {
  if (text.startsWith('file:')) return { folder: fileURLToPath(text) };
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return { folder: path.resolve(text) };
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url?.protocol !== 's3:' || url.username !== '' || url.password !== '' || !BUCKET.test(url.hostname)) {
    throw new StoreError('address', 'The address of the artifacts cannot be read: write it as s3://BUCKET/PREFIX, or as the path of a folder. Credentials are given by the AWS_* variables.');
  }
  const word = (name: string): string | undefined => url.searchParams.get(name) ?? undefined;
  // The SDK reads these variables itself; here they only decide the style, and what a sentence says.
  const endpoint = word('endpoint') ?? env['AWS_ENDPOINT_URL_S3'] ?? env['AWS_ENDPOINT_URL'];
  if (endpoint !== undefined && !URL.canParse(endpoint)) throw new StoreError('address', 'The endpoint of the artifacts is no address: write it as http://HOST:PORT.');
  const prefix = decodeURIComponent(url.pathname.replace(/^\/+|\/+$/g, ''));
  const region = word('region') ?? (endpoint !== undefined && !env['AWS_REGION'] ? 'us-east-1' : undefined);
  return {
    bucket: url.hostname, prefix: prefix === '' ? '' : `${prefix}/`, ...(endpoint === undefined ? {} : { endpoint }), ...(region === undefined ? {} : { region }),
    pathStyle: (word('path-style') ?? (endpoint === undefined ? 'false' : 'true')) === 'true',
    place: `the bucket ${url.hostname}${endpoint === undefined ? '' : ` at ${new URL(endpoint).host}`}`,
  };
}
