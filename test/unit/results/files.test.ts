import {existsSync} from 'node:fs'
import {mkdir, readdir, readFile, writeFile} from 'node:fs/promises'
import {join} from 'node:path'
import {describe, expect, it} from 'vitest'
import {errorCode, makeFolder, notWritable, writeAtomic} from '../../../src/results/files.js'
import {newFolder} from './support/folder.js'

describe('writeAtomic', () => {
  it('writes a new file and replaces an old one, leaving nothing else', async () => {
    const folder = await newFolder()
    const path = join(folder, 'summary.json')
    for (const text of ['long text that is replaced', 'ü']) {
      await writeAtomic(path, text)
      expect(await readFile(path, 'utf8')).toBe(text)
    }
    expect(await readdir(folder)).toEqual(['summary.json'])
  })

  it('lets two writers of one number write at once, as in two containers', async () => {
    const path = join(await newFolder(), 'summary.json')
    const texts = Array.from({length: 20}, (_, index) => String(index).repeat(1000))
    await Promise.all(texts.map(text => writeAtomic(path, text)))
    expect(texts).toContain(await readFile(path, 'utf8'))
  })

  it('leaves what it cannot replace, and no temporary file', async () => {
    const folder = await newFolder()
    const path = join(folder, 'taken')
    await mkdir(path)
    await writeFile(join(path, 'file'), 'text')
    await expect(writeAtomic(path, 'new')).rejects.toMatchObject({code: 'NOT_WRITABLE'})
    expect(await readdir(folder)).toEqual(['taken'])
    expect(existsSync(join(path, 'file'))).toBe(true)
  })

  it('says so when the folder is missing', async () => {
    const path = join(await newFolder(), 'missing', 'file')
    await expect(writeAtomic(path, '')).rejects.toMatchObject({
      code: 'NOT_WRITABLE',
      message: expect.stringContaining(`${path}: expected a place to write results, got ENOENT`),
    })
  })
})

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

describe('notWritable', () => {
  it.each([
    ['ENOSPC', /free some space/],
    ['EDQUOT', /quota/],
    ['EROFS', /file system that can be written/],
    ['EACCES', /permissions/],
    ['ENOTDIR', /a file stands where a folder is needed/],
  ])('has a remedy for %s', (code, remedy) => {
    const cause = Object.assign(new Error(`${code}: text`), {code})
    const error = notWritable('here', cause)
    expect(error).toMatchObject({code: 'NOT_WRITABLE', cause})
    expect(error.suggestions).toEqual([expect.stringMatching(remedy)])
  })

  it('has none for what it does not know', () => {
    expect(notWritable('here', 'text').suggestions).toEqual([])
    expect(errorCode('text')).toBeUndefined()
  })
})
