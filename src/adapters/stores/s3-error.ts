// What S3 and the wire say, as the errors of a store. Names only; whether something is tried again is the SDK's (three times) and
// then the caller's. No sentence holds a key.
import type { BucketAddress } from './bucket-address';
import { StoreError } from './store-error';

interface Said { name?: string; message?: string; code?: string; $metadata?: { httpStatusCode?: number } }

/** There is no such object, in a bucket that is there. */
export function isMissing(error: unknown): boolean {
  const { name, $metadata } = error as Said;
  return name === 'NoSuchKey' || (name === 'NotFound' && $metadata?.httpStatusCode === 404);
}

/** Turns whatever the SDK threw into a StoreError that names the bucket. */
export function toS3Error(error: unknown, { place }: BucketAddress): StoreError {
  const { name = '', message = String(error), code, $metadata } = error as Said;
  const status = $metadata?.httpStatusCode;
  if (name === 'NoSuchBucket' || status === 404) return new StoreError('missing', `There is no ${place.replace(/^the /, '')}: make it, or mend LONGHAUL_ARTIFACTS.`);
  if (name === 'CredentialsProviderError') return new StoreError('unwritable', `There are no credentials for ${place}: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile.`);
  if (status === 403 || status === 401) return new StoreError('unwritable', `${upper(place)} refuses what these credentials may not do (${name}): they need s3:GetObject, s3:PutObject, s3:DeleteObject and s3:ListBucket.`);
  if (status === 503 || status === 429 || name === 'SlowDown') return new StoreError('busy', `${upper(place)} is busy (${name}). Try again.`);
  if (status === undefined || status >= 500) return new StoreError('unreachable', `${upper(place)} does not answer (${code ?? name}${message ? `: ${message}` : ''}). Start its server, or mend LONGHAUL_ARTIFACTS and AWS_ENDPOINT_URL_S3; what waits for it goes on by itself.`);
  return new StoreError('defect', `${upper(place)}: ${name} (${status}): ${message}`);
}

const upper = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
