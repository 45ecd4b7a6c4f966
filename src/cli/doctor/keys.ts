// The doctor's look at the keys that decisions are signed with: whether they can be used here, and whether others may read them.
// A folder without keys is well as long as nobody needs them; a worker in production mode makes the first.
import { ok, type Check } from './findings';

export const keys: Check = async (place) => {
  const all = (await place.keyring()).list();
  const newest = all.at(-1);
  if (!newest) return ok('decision keys', 'none yet; they are made with the first token, or by a worker in production mode');
  return ok('decision keys', `${all.length}, of which ${newest.kid} signs; only this user can read them`);
};
