// The later builds of the upgrade suite are changes of the present sources: each must still match exactly once, so that the suite,
// which runs on demand, is not found broken long after. Builds nothing.
import { BUILDS } from '../upgrade/support/builds';
import { text } from './support/tracked';

test.each(Object.entries(BUILDS))('the changes that make the %s build fit the sources', (_name, changes) => {
  const missed = changes.filter(({ file, find }) => text(file).split(find).length !== 2).map(({ file, find }) => `${file}: ${find.slice(0, 60)}`);
  expect(missed).toEqual([]);
});
