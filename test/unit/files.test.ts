import {existsSync} from 'node:fs'
import {mkdir, readdir, readFile, writeFile} from 'node:fs/promises'
import {join} from 'node:path'
import {describe, expect, it} from 'vitest'
import {errorCode, notWritable, writeAtomic} from '../../src/files.js'
import {newFolder} from '../helpers/folders.js'

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
      message: expect.stringContaining(
        `${path}: expected a place to write a file, got a folder that is not there (ENOENT)`,
      ),
    })
  })

  it('appends what it is given, and passes on why that ended', async () => {
    const folder = await newFolder()
    const path = join(folder, 'arrays')
    await writeAtomic(path, async append => {
      await append(Uint8Array.of(1, 2))
      await append(new Uint8Array(0))
      await append(Uint8Array.of(3))
    })
    expect([...(await readFile(path))]).toEqual([1, 2, 3])
    const halfWay = writeAtomic(path, async append => {
      await append(Uint8Array.of(4))
      throw new RangeError('no more')
    })
    await expect(halfWay).rejects.toThrow(new RangeError('no more'))
    expect([...(await readFile(path))]).toEqual([1, 2, 3])
    expect(await readdir(folder)).toEqual(['arrays'])
  })
})

describe('notWritable', () => {
  it.each([
    ['ENOSPC', /free some space/],
    ['EDQUOT', /quota/],
    ['EROFS', /file system that can be written/],
    ['EACCES', /permissions/],
    ['ENOTDIR', /a file stands where a folder is needed/],
  ])('has plain words and a remedy for %s', (code, remedy) => {
    const cause = Object.assign(new Error(`${code}: text`), {code})
    const error = notWritable('here', cause)
    expect(error).toMatchObject({code: 'NOT_WRITABLE', cause})
    expect(error.message).toMatch(
      new RegExp(`^here: expected a place to write a file, got an? .*\\(${code}\\)$`),
    )
    expect(error.message).not.toContain('text')
    expect(error.suggestions).toEqual([expect.stringMatching(remedy)])
  })

  it('has none for what it does not know', () => {
    expect(notWritable('here', 'text').suggestions).toEqual([])
    expect(errorCode('text')).toBeUndefined()
  })
})
