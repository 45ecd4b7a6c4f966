// The stores for many hosts keep the contracts of their ports: journal and ledger in PostgreSQL, artifacts in S3, between processes too.
import { artifactsContract } from '../../src/testing/contracts/artifacts';
import { journalContract } from '../../src/testing/contracts/journal';
import { ledgerContract } from '../../src/testing/contracts/ledger';
import { startBucketServer, startPostgres, type BucketServer, type PostgresServer } from './support/servers';
import { freshIn } from './support/stores';

let postgres: PostgresServer;
let s3: BucketServer;
let database: string;

beforeAll(async () => {
  [postgres, s3] = await Promise.all([startPostgres(), startBucketServer()]);
  database = await postgres.fresh();
  await s3.bucket('contracts');
});

afterAll(() => Promise.all([postgres?.stop(), s3?.stop()]));

journalContract('PostgreSQL journal', () => freshIn(database));
ledgerContract('PostgreSQL ledger', () => freshIn(database));
artifactsContract('artifacts in S3', () => freshIn(database, { name: 'contracts', ...s3 }));
