// How the contract suites reach Postgres and S3: a schema of its own and a prefix of its own for each test, in this process and in others.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DeleteObjectCommand, GetObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { openStores } from '../../../src/adapters/stores/open-stores';
import type { StoresUnderTest, StorePorts } from '../../../src/testing/contracts/suite';

interface Place { stateDir: string; database: string; artifacts?: string; env?: Record<string, string> }

/** Opened by the other processes of the suites. */
export function open(place: string): Promise<StorePorts> {
  const { env, ...where } = JSON.parse(place) as Place;
  Object.assign(process.env, env);
  return openStores(where);
}

let made = 0;

/** Fresh stores for one test, in a schema of this database; artifacts in a folder, or in the bucket at this endpoint. */
export async function freshIn(database: string, bucket?: { name: string; endpoint: string; env: Record<string, string> }): Promise<StoresUnderTest> {
  const stateDir = mkdtempSync(path.join(tmpdir(), 'longhaul-stores-'));
  const id = `t${process.pid}_${++made}`;
  const place = JSON.stringify({ stateDir, database: `${database}?schema=${id}`, ...(bucket ? { artifacts: `s3://${bucket.name}/${id}`, env: bucket.env } : {}) });
  const stores = await open(place);
  const s3 = bucket ? new S3Client({ endpoint: bucket.endpoint, region: 'us-east-1', forcePathStyle: true, credentials: { accessKeyId: 'test', secretAccessKey: 'test' } }) : null;
  const at = (sha256: string) => ({ Bucket: bucket!.name, Key: `${id}/${sha256.slice(0, 2)}/${sha256.slice(2)}` });
  return {
    stores,
    again: () => open(place),
    elsewhere: { module: __filename, argument: place },
    async damage(sha256) {
      const bytes = await (await s3!.send(new GetObjectCommand(at(sha256)))).Body!.transformToByteArray();
      bytes[Math.floor(bytes.length / 2)]! ^= 1;
      await s3!.send(new PutObjectCommand({ ...at(sha256), Body: bytes }));
    },
    lose: async (sha256) => void await s3!.send(new DeleteObjectCommand(at(sha256))),
    async close() {
      await stores.close();
      s3?.destroy();
      rmSync(stateDir, { recursive: true, force: true });
    },
  };
}
