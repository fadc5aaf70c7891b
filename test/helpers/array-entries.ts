import {type ArrayEntry, openArrays} from '../../src/inputs/files/index.js'

/** What the headers of a file say of its arrays. */
export async function entriesOf(path: string): Promise<ReadonlyMap<string, ArrayEntry>> {
  const reader = await openArrays(path)
  await reader.close()
  return reader.entries
}
