// Artifacts in a bucket: `PREFIX/ab/cdef…` by sha256, whole or not at all, since a PUT is. S3 compares the bytes with their sha256
// before it takes them, and every read compares the whole content with its name. Removes only what it is told to, by age.
// Region, credentials and endpoint are the AWS SDK's own variables. Metadata travels in the reference; the bucket keeps bytes alone.
import type { S3Client } from '@aws-sdk/client-s3';
import type { ArtifactsPort } from '../../ports/artifacts';
import { hashOf, reading, refTo, SHA256 } from './artifacts-bytes';
import type { BucketAddress } from './bucket-address';
import { isMissing, toS3Error } from './s3-error';
import { StoreError } from './store-error';

type Sdk = typeof import('@aws-sdk/client-s3');

/** ms after which whoever removes gives up, so that who waits for it knows that it is over. */
const REMOVING_MS = 10_000;
const LOOK_MS = 200;

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Opens a bucket, which must be there. Throws StoreError `unreachable`, `missing`, `unwritable`. */
export async function openArtifactsBucket(address: BucketAddress): Promise<{ artifacts: ArtifactsPort; close(): void }> {
  // The SDK would warn of Node's age on stderr, where a command says its one sentence.
  process.env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] ??= 'true';
  const sdk = await import('@aws-sdk/client-s3');
  const client = new sdk.S3Client({
    ...(address.endpoint ? { endpoint: address.endpoint } : {}), ...(address.region ? { region: address.region } : {}), forcePathStyle: address.pathStyle,
    // What is read is compared with its name; the SDK need not compare it with itself.
    responseChecksumValidation: 'WHEN_REQUIRED', requestHandler: { connectionTimeout: 5_000, requestTimeout: 60_000, throwOnRequestTimeout: true },
  });
  try {
    await client.send(new sdk.HeadBucketCommand({ Bucket: address.bucket }));
  } catch (error) {
    client.destroy();
    throw toS3Error(error, address);
  }
  return { artifacts: portOf(new BucketStore(sdk, client, address)), close: () => client.destroy() };
}

function portOf(store: BucketStore): ArtifactsPort {
  const stat = async (sha256: string): Promise<{ bytes: number; writtenAt: number } | null> => (SHA256.test(sha256) ? store.head(store.keyOf(sha256)) : null);
  return {
    async write(bytes, about) {
      const sha256 = await hashOf(bytes);
      await store.put(sha256, bytes);
      return refTo(sha256, bytes, about);
    },
    ...reading((sha256) => store.get(sha256)),
    has: async (sha256) => (await stat(sha256)) !== null,
    list: () => store.ids(),
    stat,
    remove: (sha256, writtenBefore) => (SHA256.test(sha256) ? store.remove(sha256, writtenBefore) : Promise.resolve('missing')),
  };
}

/** Requests to one bucket. Every method throws StoreError when the bucket does not do its work. */
class BucketStore {
  constructor(private readonly sdk: Sdk, private readonly client: S3Client, private readonly address: BucketAddress) {}

  readonly keyOf = (sha256: string): string => `${this.address.prefix}${sha256.slice(0, 2)}/${sha256.slice(2)}`;

  async get(sha256: string): Promise<Uint8Array | null> {
    const { sdk, client, address } = this;
    return this.asked(async () => {
      const { Body } = await client.send(new sdk.GetObjectCommand({ Bucket: address.bucket, Key: this.keyOf(sha256) }));
      return Body!.transformToByteArray();
    });
  }

  async head(key: string): Promise<{ bytes: number; writtenAt: number } | null> {
    const { sdk, client, address } = this;
    return this.asked(async () => {
      const { ContentLength, LastModified } = await client.send(new sdk.HeadObjectCommand({ Bucket: address.bucket, Key: key }));
      return { bytes: ContentLength ?? 0, writtenAt: LastModified?.getTime() ?? 0 };
    });
  }

  /** The first one writes the name; who finds it there writes the same bytes again, so that they are whole and young. */
  async put(sha256: string, bytes: Uint8Array): Promise<void> {
    if (await this.create(this.keyOf(sha256), bytes, sha256)) return;
    for (;;) {
      await this.overwrite(sha256, bytes);
      // Somebody may be removing the older copy: it marks that before it looks at the age.
      for (const since = Date.now(); Date.now() - since < 2 * REMOVING_MS && await this.head(this.markOf(sha256)) !== null;) await sleep(LOOK_MS);
      if (await this.head(this.keyOf(sha256)) !== null) return;
    }
  }

  /** Marks first, then looks, then removes: whoever writes the same bytes after the look sees the mark, or that they are gone. */
  async remove(sha256: string, writtenBefore: number): Promise<'removed' | 'younger' | 'missing'> {
    const { sdk, client, address } = this;
    const key = this.keyOf(sha256);
    const mark = this.markOf(sha256);
    const before = await this.head(key);
    if (before === null || before.writtenAt >= writtenBefore) return before === null ? 'missing' : 'younger';
    const since = Date.now();
    if (!await this.create(mark, new Uint8Array())) {
      const other = await this.head(mark);
      // Its owner has given up long ago, or does it now; the next collection finds what is left.
      if (other !== null && Date.now() - other.writtenAt > 10 * REMOVING_MS) await this.asked(() => client.send(new sdk.DeleteObjectCommand({ Bucket: address.bucket, Key: mark })));
      return 'younger';
    }
    try {
      const now = await this.head(key);
      if (now === null) return 'missing';
      if (now.writtenAt >= writtenBefore || Date.now() - since > REMOVING_MS / 2) return 'younger';
      await this.asked(() => client.send(new sdk.DeleteObjectCommand({ Bucket: address.bucket, Key: key }), { abortSignal: AbortSignal.timeout(REMOVING_MS / 2) }));
      return 'removed';
    } finally {
      await this.asked(() => client.send(new sdk.DeleteObjectCommand({ Bucket: address.bucket, Key: mark })));
    }
  }

  async* ids(): AsyncIterable<string> {
    const { sdk, client, address } = this;
    for (let next: string | undefined; ;) {
      const page = await this.asked(() => client.send(new sdk.ListObjectsV2Command({ Bucket: address.bucket, Prefix: address.prefix, ...(next === undefined ? {} : { ContinuationToken: next }) })));
      for (const { Key = '' } of page?.Contents ?? []) {
        const [shelf = '', rest = '', ...more] = Key.slice(address.prefix.length).split('/');
        if (more.length === 0 && shelf.length === 2 && SHA256.test(shelf + rest)) yield shelf + rest;
      }
      next = page?.NextContinuationToken;
      if (next === undefined) return;
    }
  }

  private readonly markOf = (sha256: string): string => `${this.address.prefix}removing/${sha256}`;

  /** False when the name is taken. */
  private async create(key: string, bytes: Uint8Array, sha256?: string): Promise<boolean> {
    const { sdk, client, address } = this;
    for (let tries = 0; ; tries++) {
      try {
        await client.send(new sdk.PutObjectCommand({ Bucket: address.bucket, Key: key, Body: bytes, IfNoneMatch: '*', ...checksumOf(sha256) }));
        return true;
      } catch (error) {
        const status = (error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode;
        if (status === 412) return false;
        // Two that write one name at once: one of them is asked to try again.
        if (status !== 409 || tries > 20) throw toS3Error(error, address);
        await sleep(LOOK_MS * Math.random());
      }
    }
  }

  private async overwrite(sha256: string, bytes: Uint8Array): Promise<void> {
    const { sdk, client, address } = this;
    await this.asked(() => client.send(new sdk.PutObjectCommand({ Bucket: address.bucket, Key: this.keyOf(sha256), Body: bytes, ...checksumOf(sha256) })));
  }

  /** Null when there is no such object. */
  private async asked<T>(request: () => Promise<T>): Promise<T | null> {
    try {
      return await request();
    } catch (error) {
      if (isMissing(error)) return null;
      throw error instanceof StoreError ? error : toS3Error(error, this.address);
    }
  }
}

const checksumOf = (sha256: string | undefined): { ChecksumSHA256?: string } => (sha256 === undefined ? {} : { ChecksumSHA256: Buffer.from(sha256, 'hex').toString('base64') });
