import {readdir, writeFile} from 'node:fs/promises'
import {basename, join} from 'node:path'
import {expect, it} from 'vitest'
import {PROFILE_FOLDER, profileFiles} from '../../../../src/runner/folder/profile-files.js'
import {temporaryFolder} from '../../../helpers/folders.js'

const run = temporaryFolder()

it('names files that follow those of earlier sessions', async () => {
  const first = await profileFiles(run)
  expect(first()).toBe(join(run, PROFILE_FOLDER, 'worker-1.cpuprofile'))
  for (const name of ['worker-9.cpuprofile', 'worker-10.cpuprofile', 'worker-11.cpuprofile.x']) {
    await writeFile(join(run, PROFILE_FOLDER, name), 'kept')
  }
  const next = await profileFiles(run)
  expect([next(), next()].map(path => basename(path))).toEqual([
    'worker-11.cpuprofile',
    'worker-12.cpuprofile',
  ])
  expect(await readdir(join(run, PROFILE_FOLDER))).toHaveLength(3)
})

it('refuses a place where no folder can be', async () => {
  await writeFile(join(run, 'file'), '')
  await expect(profileFiles(join(run, 'file'))).rejects.toMatchObject({code: 'NOT_WRITABLE'})
})
