// The doctor's look at the keys that decisions are signed with, and at those of payloads: whether they can be used here, whether
// others may read them, and whether the workers of this folder use them.
// A folder without keys is well as long as nobody needs them; a worker in production mode makes the first.
import { workersInPlain } from '../workers';
import { ok, wrong, type Check } from './findings';

export const keys: Check = async (place) => {
  const all = (await place.keyring()).list();
  const newest = all.at(-1);
  if (!newest) return ok('decision keys', 'none yet; they are made with the first token, or by a worker in production mode');
  return ok('decision keys', `${all.length}, of which ${newest.kid} signs; only this user can read them`);
};

export const payloadKeys: Check = async (place) => {
  // A demand in the configuration counts, where there is one that can be read.
  await place.config().catch(() => null);
  const encryption = await place.encryption();
  const { selfTest } = await import('../../adapters/codec/encryption');
  await selfTest(encryption);
  const { on, keys: ring } = encryption;
  if (!on) return ok('payload keys', ring.list().length === 0 ? 'none: what goes through Temporal is not encrypted there' : `there are some (${ring.source}), and LONGHAUL_ENCRYPTION=off: nothing more is encrypted`);
  const plain = workersInPlain(place.stateDir);
  if (plain.length > 0) return wrong('payload keys', `${ring.newest()?.kid} encrypts what is sent from here, but not in ${plain.join(', ')}: started before there was a key, or with LONGHAUL_ENCRYPTION=off, and in plain until started again`, 'stop these workers and start them again (npx longhaul dev, or npx longhaul worker)');
  return ok('payload keys', `${ring.list().length}, of which ${ring.newest()?.kid} encrypts; a sample was encrypted and came back (${ring.source})`);
};
