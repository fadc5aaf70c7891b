import {spawnSync} from 'node:child_process'
import {readdir, utimes, writeFile} from 'node:fs/promises'
import {join} from 'node:path'
import {expect, it, onTestFinished, vi} from 'vitest'
import {removeLeftovers} from '../../../../src/results/folder/leftovers.js'
import {newFolder} from '../../../helpers/folders.js'

const deadPid = () => spawnSync(process.execPath, ['-e', '0']).pid

it('removes unfinished files of dead processes, and nothing else', async () => {
  const folder = await newFolder()
  const dead = deadPid()
  const old = [
    `records.lock.${dead}-12ab.tmp`,
    `records.lock.${process.pid}-12ab.tmp`, // of a container where that number is another's
    'records.lock.takeover',
  ]
  const kept = [
    `records.csv.${process.pid}-12ab.tmp`, // its process runs
    `records.lock.${dead}-34cd.tmp`, // of another host, perhaps, that looks at the lock just now
    'records.lock.takeover.takeover',
    'notes.tmp',
    'notes.takeover',
    'records.jsonl',
  ]
  const removed = [`manifest.json.${dead}.tmp`, `records.csv.${dead}-12ab.tmp`, ...old]
  for (const name of [...kept, ...removed]) await writeFile(join(folder, name), '')
  for (const name of [...old, 'notes.takeover']) await utimes(join(folder, name), 1, 1)
  await removeLeftovers(folder, 'records.lock')
  expect((await readdir(folder)).sort()).toEqual(kept.sort())
  await removeLeftovers(join(folder, 'missing'), 'records.lock')
})

it('takes ages by the clock of the file system, not by its own', async () => {
  const folder = await newFolder()
  const name = `records.lock.${deadPid()}.tmp`
  await writeFile(join(folder, name), '')
  vi.useFakeTimers({toFake: ['Date'], now: Date.now() + 3_600_000})
  onTestFinished(() => void vi.useRealTimers())
  await removeLeftovers(folder, 'records.lock')
  expect(await readdir(folder)).toEqual([name])
})
