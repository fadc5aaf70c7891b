import {execFileSync} from 'node:child_process'
import {chmod, lstat, readdir, readFile, symlink, writeFile} from 'node:fs/promises'
import {join} from 'node:path'
import {describe, expect, it} from 'vitest'
import {writeOwnFile} from '../../../../src/cli/report/own-file.js'
import {newFolder} from '../../../helpers/folders.js'

const own = {flag: '--output', force: false, isOwn: () => true, what: 'an earlier report'}

describe('writeOwnFile', () => {
  it('writes a whole file and leaves nothing beside it', async () => {
    const folder = await newFolder()
    const path = join(folder, 'r.md')
    for (const text of ['one', 'two']) {
      await writeOwnFile(path, text, own)
      expect(await readFile(path, 'utf8')).toBe(text)
    }
    expect(await readdir(folder)).toEqual(['r.md'])
  })

  it('writes where a link leads, and leaves the link', async () => {
    const folder = await newFolder()
    const [path, link] = [join(folder, 'r.md'), join(folder, 'link.md')]
    await writeFile(path, 'old')
    await symlink(path, link)
    await writeOwnFile(link, 'new', own)
    expect(await readFile(path, 'utf8')).toBe('new')
    expect((await lstat(link)).isSymbolicLink()).toBe(true)
  })

  it('replaces a link where nobody typed the place, under force alone, and never writes through it', async () => {
    const folder = await newFolder()
    const [path, link] = [join(folder, 'precious'), join(folder, 'report.md')]
    await writeFile(path, 'old')
    await symlink(path, link)
    const untyped = {...own, untyped: true}
    await expect(writeOwnFile(link, 'new', untyped)).rejects.toMatchObject({
      code: 'WOULD_OVERWRITE',
    })
    await writeOwnFile(link, 'new', {...untyped, force: true})
    expect(await readFile(path, 'utf8')).toBe('old')
    expect(await readFile(link, 'utf8')).toBe('new')
    expect((await lstat(link)).isFile()).toBe(true)
  })

  it.skipIf(process.platform === 'win32')('waits for no pipe that nothing reads', async () => {
    const pipe = join(await newFolder(), 'pipe')
    execFileSync('mkfifo', [pipe])
    await expect(writeOwnFile(pipe, 'x', {...own, force: true})).rejects.toMatchObject({
      code: 'NOT_WRITABLE',
      message: expect.stringContaining('a pipe that nothing reads (ENXIO)'),
    })
    const reading = readFile(pipe, 'utf8')
    await expect
      .poll(() => writeOwnFile(pipe, 'x', {...own, force: true}).then(() => 'written'))
      .toBe('written')
    expect(await reading).toBe('x')
  })

  // root may write anywhere
  it.skipIf(process.getuid?.() === 0 || process.platform === 'win32')(
    'writes a file in a folder that takes no other',
    async () => {
      const folder = await newFolder()
      const path = join(folder, 'r.md')
      await writeFile(path, 'old')
      await chmod(folder, 0o500)
      await writeOwnFile(path, 'new', own)
      expect(await readFile(path, 'utf8')).toBe('new')
      await chmod(folder, 0o700)
    },
  )

  it('says in words why it cannot', async () => {
    const path = join(await newFolder(), 'none', 'r.md')
    await expect(writeOwnFile(path, 'x', own)).rejects.toMatchObject({
      code: 'NOT_WRITABLE',
      message: `--output: cannot write ${path}: expected a place to write a file, got a folder that is not there (ENOENT)`,
    })
  })

  it('refuses a file of others', async () => {
    const path = join(await newFolder(), 'r.md')
    await writeFile(path, 'mine')
    await expect(writeOwnFile(path, 'x', {...own, isOwn: () => false})).rejects.toMatchObject({
      code: 'WOULD_OVERWRITE',
    })
    expect(await readFile(path, 'utf8')).toBe('mine')
  })
})
