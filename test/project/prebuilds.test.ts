/** scripts/prebuilds/addon.js: which addons are kept, and which may be put in place. */
import {spawnSync} from 'node:child_process'
import {existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs'
import {join} from 'node:path'
import {describe, expect, it, vi} from 'vitest'
import {packageRoot} from '../../src/package.js'
import {newFolder} from '../helpers/folders.js'

const {isMadeOf, putAddon, sumOf} = await import(
  join(packageRoot(), 'scripts', 'prebuilds', 'addon.js')
)

describe('what an addon is made of', () => {
  it('changes with content, names, a file less and the compiler, and with nothing else', async () => {
    const root = await newFolder()
    mkdirSync(join(root, 'native/kernels'), {recursive: true})
    writeFileSync(join(root, 'binding.gyp'), '{}')
    for (const name of ['a.cc', 'kernels/b.h', 'kernels/c.h']) {
      writeFileSync(join(root, 'native', name), name)
    }
    const sum = (compiler = 'g++ 12') => sumOf(root, ['binding.gyp', 'native'], compiler)
    const before = sum()
    writeFileSync(join(root, 'native/a.cc'), 'a.cc') // a new time, the same content
    expect(sum()).toBe(before)
    expect(sum('g++ 13')).not.toBe(before)
    writeFileSync(join(root, 'native/a.cc'), 'A.cc')
    expect(sum()).not.toBe(before)
    writeFileSync(join(root, 'native/a.cc'), 'a.cc')
    rmSync(join(root, 'native/kernels/c.h'))
    expect(sum()).not.toBe(before)
  })
})

/** A directory with an `objdump` that prints these references, first on the PATH. */
async function withObjdump(references: string) {
  const tools = await newFolder()
  const script = `#!/bin/sh\necho 'Version References:'\necho '  0x01 0x00 02 ${references}'\n`
  writeFileSync(join(tools, 'objdump'), script, {mode: 0o755})
  vi.stubEnv('PATH', `${tools}:${process.env.PATH}`)
}

describe.runIf(process.platform === 'linux')('an addon is put in place', () => {
  it('with a note of its sum, by which it is known again', async () => {
    await withObjdump('GLIBC_2.28')
    const folder = await newFolder()
    const [built, place] = [join(folder, 'built.node'), join(folder, 'to', 'rfa.node')]
    writeFileSync(built, 'addon')
    expect(putAddon(built, place, 'one')).toBe('GLIBC 2.28')
    expect(readFileSync(place, 'utf8')).toBe('addon')
    expect(isMadeOf(place, 'one')).toBe(true)
    expect(isMadeOf(place, 'two')).toBe(false)
    rmSync(place)
    expect(isMadeOf(place, 'one')).toBe(false)
  })

  it('only where it runs on what Node runs on: what is there stays', async () => {
    await withObjdump('GLIBC_2.29')
    const folder = await newFolder()
    const [built, place] = [join(folder, 'built.node'), join(folder, 'to', 'rfa.node')]
    writeFileSync(built, 'newer')
    expect(() => putAddon(built, place, 'one')).toThrow(/needs GLIBC 2\.29, expected at most 2\.28/)
    expect(existsSync(place)).toBe(false)
    mkdirSync(join(folder, 'to'))
    writeFileSync(place, 'earlier')
    expect(() => putAddon(built, place, 'one')).toThrow(/needs GLIBC/)
    expect(readFileSync(place, 'utf8')).toBe('earlier')
    expect(readdirSync(join(folder, 'to'))).toEqual(['rfa.node'])
  })

  it('never without objdump, which is named', async () => {
    const folder = await newFolder()
    vi.stubEnv('PATH', folder)
    expect(() => putAddon('built.node', join(folder, 'rfa.node'), 'one')).toThrow(
      /^objdump does not run: .*ENOENT; on Debian: apt install binutils$/,
    )
  })

  it('is not put there when no compiler is found', async () => {
    const {status, stderr} = spawnSync(process.execPath, ['scripts/prebuilds.js'], {
      env: {PATH: await newFolder()},
      encoding: 'utf8',
    })
    expect({status, stderr}).toEqual({
      status: 1,
      stderr: expect.stringMatching(/g\+\+ was not found; on Debian: apt install/),
    })
  })
})
