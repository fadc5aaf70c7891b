import {readdir, writeFile} from 'node:fs/promises'
import {join} from 'node:path'
import {describe, expect, it} from 'vitest'
import {
  defaultRunDirectory,
  makeNewDirectory,
} from '../../../../src/results/folder/new-directory.js'
import {newFolder} from '../../../helpers/folders.js'

describe('defaultRunDirectory', () => {
  it('is made of the experiment and the local time', () => {
    const date = new Date(2026, 0, 5, 3, 7, 9)
    expect(defaultRunDirectory('error-sweep', date)).toBe(
      join('results', 'error-sweep-20260105-030709'),
    )
  })
})

describe('makeNewDirectory', () => {
  it('gives each of many at once a folder of its own', async () => {
    const folder = await newFolder()
    const name = join(folder, 'deep', 'bench-1')
    const made = await Promise.all([name, name, name].map(makeNewDirectory))
    expect(made.sort()).toEqual([name, `${name}-2`, `${name}-3`])
    expect((await readdir(join(folder, 'deep'))).length).toBe(3)
  })

  it('says why it cannot be made', async () => {
    const file = join(await newFolder(), 'file')
    await writeFile(file, '')
    await expect(makeNewDirectory(join(file, 'bench-1'))).rejects.toMatchObject({
      code: 'NOT_WRITABLE',
    })
  })
})
