// The doctor's look at the keys that decisions are signed with, and at those of payloads: whether they can be used here, and whether others may read them.
// A folder without keys is well as long as nobody needs them; a worker in production mode makes the first.
import { ok, type Check } from './findings';

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
  return ok('payload keys', `${ring.list().length}, of which ${ring.newest()?.kid} encrypts; a sample was encrypted and came back (${ring.source})`);
};
