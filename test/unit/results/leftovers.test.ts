import {spawnSync} from 'node:child_process'
import {readdir, utimes, writeFile} from 'node:fs/promises'
import {join} from 'node:path'
import {expect, it} from 'vitest'
import {removeLeftovers} from '../../../src/results/leftovers.js'
import {newFolder} from './support/folder.js'

it('removes unfinished files of dead processes, and nothing else', async () => {
  const folder = await newFolder()
  const {pid: dead} = spawnSync(process.execPath, ['-e', '0'])
  const kept = [
    `records.csv.${process.pid}.tmp`, // its process runs
    `records.lock.${dead}.tmp`, // of another host, perhaps, that looks at the lock just now
    'notes.tmp',
    'records.jsonl',
  ]
  const removed = [
    `manifest.json.${dead}.tmp`,
    `records.csv.${dead}.tmp`,
    `records.lock.${dead + 1e6}.tmp`,
  ]
  for (const name of [...kept, ...removed]) await writeFile(join(folder, name), '')
  await utimes(join(folder, `records.lock.${dead + 1e6}.tmp`), 1, 1)
  await removeLeftovers(folder, 'records.lock')
  expect((await readdir(folder)).sort()).toEqual(kept.sort())
  await removeLeftovers(join(folder, 'missing'), 'records.lock')
})
