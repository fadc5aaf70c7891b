import {existsSync} from 'node:fs'
import {readdir, writeFile} from 'node:fs/promises'
import {join} from 'node:path'
import {describe, expect, it} from 'vitest'
import {makeFolder} from '../../../src/results/files.js'
import {newFolder} from '../../helpers/folders.js'

describe('makeFolder', () => {
  it('makes a folder and its parents, and leaves one that is there', async () => {
    const folder = join(await newFolder(), 'very', 'deep', 'run')
    await makeFolder(folder)
    await writeFile(join(folder, 'file'), 'text')
    await Promise.all([makeFolder(folder), makeFolder(`${folder}/`), makeFolder('.')])
    expect(await readdir(folder)).toEqual(['file'])
  })

  it('lets several processes make the same parents', async () => {
    const folder = join(await newFolder(), 'both')
    const names = ['a', 'b', 'c']
    await Promise.all(names.map(name => makeFolder(join(folder, 'deep', name))))
    expect((await readdir(join(folder, 'deep'))).sort()).toEqual(names)
  })

  it('fails where a file stands', async () => {
    const file = join(await newFolder(), 'file')
    await writeFile(file, 'text')
    for (const path of [file, join(file, 'run'), join(file, 'deep', 'run')]) {
      await expect(makeFolder(path)).rejects.toMatchObject({
        code: 'NOT_WRITABLE',
        suggestions: [expect.stringContaining('a file stands where a folder is needed')],
      })
    }
  })

  it.runIf(existsSync('/proc/self'))('fails where the system makes none, as in /proc', async () => {
    for (const path of ['/proc/rfa', '/proc/rfa/deep']) {
      await expect(makeFolder(path)).rejects.toMatchObject({
        code: 'NOT_WRITABLE',
        suggestions: [expect.stringContaining('choose another folder')],
      })
    }
  })
})
